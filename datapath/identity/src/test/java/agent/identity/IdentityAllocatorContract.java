package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.types.Refusal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The contract of every {@link IdentityAllocator}, local or with a store on the network. */
public abstract class IdentityAllocatorContract {
  private final List<String> heard = new CopyOnWriteArrayList<>();

  /** Returns the allocator under test, which has only the reserved identities. */
  protected abstract IdentityAllocator identities();

  /** Waits until the allocator has no work left and has delivered every event. */
  protected abstract void settle();

  /** Reads labels. */
  protected static LabelSet labels(String... texts) {
    return LabelSet.parse("labels", List.of(texts));
  }

  /** Returns the value of a future, or the exception that it completed with. */
  protected static <T> T await(CompletableFuture<T> future) {
    try {
      return future.orTimeout(10, TimeUnit.SECONDS).join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  /** Returns a listener that records {@code +number} and {@code -number}. */
  protected IdentityListener recorder() {
    return new IdentityListener() {
      @Override
      public void onIdentityAdded(Identity identity) {
        heard.add("+" + identity.id());
      }

      @Override
      public void onIdentityRemoved(Identity identity) {
        heard.add("-" + identity.id());
      }
    };
  }

  /** Returns the entries that {@link #recorder} and the tests recorded. */
  protected List<String> heard() {
    return heard;
  }

  private Refusal.Kind refusal(CompletableFuture<?> future) {
    return assertThrows(Refusal.class, () -> await(future)).kind();
  }

  @Test
  void shouldGiveTheSameLabelsTheSameIdentityUntilTheLastRelease() {
    identities().addListener(recorder());
    final Identity first = await(identities().acquire(labels("app=web", "tier=db")));
    final Identity second = await(identities().acquire(labels("tier=db", "app=web")));
    assertEquals(first, second);
    assertTrue(first.isCluster(), first::toString);
    assertFalse(await(identities().release(first.id())));
    assertEquals(Optional.of(first), identities().find(first.id()));
    assertEquals(Optional.of(first), identities().find(first.labels()));
    assertTrue(await(identities().release(first.id())));
    settle();
    assertEquals(Optional.empty(), identities().find(first.id()));
    assertEquals(Optional.empty(), identities().find(first.labels()));
    assertEquals(List.of("+" + first.id(), "-" + first.id()), heard);
  }

  @Test
  void shouldNotifyListenersOfAnIdentityBeforeItsFutureCompletes() {
    identities().addListener(recorder());
    for (int i = 0; i < 50; i++) {
      final CompletableFuture<Identity> acquired = identities().acquire(labels("n=" + i));
      final CompletableFuture<Boolean> noted =
          acquired.thenApply(identity -> heard.add("acquired " + identity.id()));
      await(noted);
      final int id = await(acquired).id();
      assertEquals(List.of("+" + id, "acquired " + id), heard.subList(2 * i, 2 * i + 2));
    }
  }

  @Test
  void shouldNotCompleteASecondAcquireWhileAListenerHearsOfTheIdentity() throws Exception {
    final CountDownLatch inListener = new CountDownLatch(1);
    final CountDownLatch goOn = new CountDownLatch(1);
    identities()
        .addListener(
            new IdentityListener() {
              @Override
              public void onIdentityAdded(Identity identity) {
                inListener.countDown();
                try {
                  assertTrue(goOn.await(10, TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              }

              @Override
              public void onIdentityRemoved(Identity identity) {}
            });
    try (ExecutorService callers = Executors.newFixedThreadPool(2)) {
      final Supplier<Identity> acquire = () -> await(identities().acquire(labels("app=web")));
      final CompletableFuture<Identity> first = CompletableFuture.supplyAsync(acquire, callers);
      assertTrue(inListener.await(10, TimeUnit.SECONDS));
      final CompletableFuture<Identity> second = CompletableFuture.supplyAsync(acquire, callers);
      assertThrows(TimeoutException.class, () -> second.get(300, TimeUnit.MILLISECONDS));
      assertFalse(first.isDone());
      goOn.countDown();
      assertEquals(await(first), await(second));
    } finally {
      goOn.countDown();
    }
  }

  @Test
  void shouldNotGiveAFreedNumberToOtherLabelsAtOnce() {
    final Identity gone = await(identities().acquire(labels("app=a")));
    await(identities().release(gone.id()));
    settle();
    assertNotEquals(gone.id(), await(identities().acquire(labels("app=b"))).id());
  }

  @Test
  void shouldGiveAnEndpointWithoutLabelsTheInitIdentity() {
    identities().addListener(recorder());
    final Identity init = await(identities().acquire(LabelSet.EMPTY));
    assertEquals(5, init.id());
    assertEquals(List.of("reserved:init"), init.labels().toStrings());
    assertEquals(List.of(new IdentityInUse(init, 1)), identities().inUse());
    await(identities().release(5));
    settle();
    assertEquals(List.of(), identities().inUse());
    assertEquals(Optional.of(init), identities().find(5));
    assertEquals(List.of(), heard);
  }

  @Test
  void shouldKnowTheReservedIdentities() {
    assertEquals(ReservedIdentity.identities(), identities().list());
    assertEquals(
        Optional.of(ReservedIdentity.HOST.identity()), identities().find(labels("reserved:host")));
  }

  @Test
  void shouldRestoreNumbersAndCountTheirReferences() {
    identities().addListener(recorder());
    assertEquals(400, await(identities().restore(400, labels("app=a"))).id());
    assertEquals(400, await(identities().restore(400, labels("app=a"))).id());
    assertNotEquals(400, await(identities().acquire(labels("app=b"))).id());
    assertEquals(5, await(identities().restore(5, LabelSet.EMPTY)).id());
    assertEquals(
        List.of(
            new IdentityInUse(ReservedIdentity.INIT.identity(), 1),
            new IdentityInUse(new Identity(400, labels("app=a")), 2)),
        identities().inUse().stream().filter(used -> used.identity().id() <= 400).toList());
    assertEquals(1, heard.stream().filter("+400"::equals).count());
  }

  @Test
  void shouldRefuseContradictionsThroughTheFuture() {
    await(identities().restore(400, labels("app=a")));
    assertEquals(Refusal.Kind.CONFLICT, refusal(identities().restore(400, labels("app=b"))));
    assertEquals(Refusal.Kind.CONFLICT, refusal(identities().restore(401, labels("app=a"))));
    assertEquals(Refusal.Kind.INVALID, refusal(identities().restore(70_000, labels("app=c"))));
    assertEquals(Refusal.Kind.CONFLICT, refusal(identities().restore(6, LabelSet.EMPTY)));
    assertEquals(Refusal.Kind.NOT_FOUND, refusal(identities().release(401)));
    assertEquals(
        List.of(new IdentityInUse(new Identity(400, labels("app=a")), 1)), identities().inUse());
  }

  @Test
  void shouldCountLikeANaiveModel() {
    final Random random = new Random(42);
    final Map<LabelSet, Integer> counts = new HashMap<>();
    final Map<LabelSet, Integer> numbers = new HashMap<>();
    for (int i = 0; i < 5_000; i++) {
      final LabelSet labels = labels("n=" + random.nextInt(40));
      if (random.nextInt(2) == 0) {
        final int id = await(identities().acquire(labels)).id();
        assertEquals(numbers.computeIfAbsent(labels, l -> id), id);
        counts.merge(labels, 1, Integer::sum);
      } else if (counts.containsKey(labels)) {
        final boolean last = counts.merge(labels, -1, Integer::sum) == 0;
        assertEquals(last, await(identities().release(numbers.get(labels))));
        if (last) {
          counts.remove(labels);
          numbers.remove(labels);
        }
      }
    }
    settle();
    assertEquals(numbers.size(), identities().list().size() - ReservedIdentity.values().length);
    final Map<LabelSet, Integer> inUse = new HashMap<>();
    identities().inUse().forEach(used -> inUse.put(used.identity().labels(), used.refCount()));
    assertEquals(counts, inUse);
  }
}
