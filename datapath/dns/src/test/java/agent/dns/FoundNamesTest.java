package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameResolver.Resolved;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What endpoints look up: {@link Names#found}. */
class FoundNamesTest {
  private static final String WWW = "www.example.com.";
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");

  private final List<NameLookup> saved = new ArrayList<>();
  private final AtomicReference<Instant> now = new AtomicReference<>(START);
  private final BlockingQueue<CompletableFuture<Void>> enforcing = new LinkedBlockingQueue<>();
  private final List<Map<String, ? extends Collection<IpAddress>>> changes = new ArrayList<>();
  private final Set<String> unselected = new HashSet<>();
  private volatile int appends;
  private volatile boolean fails;
  private volatile boolean failsToSync;
  private volatile CompletableFuture<Void> disk = CompletableFuture.completedFuture(null);
  private volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);
  private volatile int syncsBegun;
  private volatile int syncs;
  private Names names;

  private final NameStore store =
      new NameStore() {
        @Override
        public List<NameLookup> load() {
          synchronized (saved) {
            return List.copyOf(saved);
          }
        }

        @Override
        public void save(List<NameLookup> lookups) {
          check();
          synchronized (saved) {
            saved.clear();
            saved.addAll(lookups);
          }
        }

        @Override
        public void append(List<NameLookup> lookups) {
          check();
          appends++;
          synchronized (saved) {
            saved.addAll(lookups);
          }
        }

        @Override
        public void sync() {
          if (failsToSync) {
            throw new OperationException("input or output error");
          }
          syncsBegun++;
          disk.join();
          syncs++;
        }

        @Override
        public void compact(Supplier<List<NameLookup>> all) {
          synchronized (saved) {
            save(all.get());
          }
        }

        private void check() {
          if (fails) {
            throw new OperationException("disk full");
          }
        }
      };

  private Names start() {
    names =
        Names.open(
            new NamesContext()
                .store(store)
                .leastTtl(Duration.ofSeconds(60))
                .selected(name -> !unselected.contains(name))
                .clocks(
                    now::get,
                    () ->
                        TimeUnit.MILLISECONDS.toNanos(
                            now.get().toEpochMilli() - START.toEpochMilli()))
                .conclude());
    names.start(this::enforce, Set::of, (name, answer) -> {});
    return names;
  }

  /** Each change is enforced when the test says so; a closed gate holds the thread that works. */
  private CompletableFuture<Void> enforce(Map<String, ? extends Collection<IpAddress>> changed) {
    final CompletableFuture<Void> done = new CompletableFuture<>();
    gate.join();
    synchronized (changes) {
      changes.add(changed);
    }
    enforcing.add(done);
    return done;
  }

  @AfterEach
  void stop() {
    if (names != null) {
      close();
    }
  }

  private void close() {
    final Names closed = names;
    names = null;
    closed.close();
  }

  private static Resolved answer(String... texts) {
    return new Resolved(Arrays.stream(texts).map(IpAddress::parse).toList(), 5);
  }

  @Test
  void shouldSayWhichAddressesOfAnAnswerALimitKeepsOut() throws Exception {
    start();
    final List<IpAddress> many = new ArrayList<>();
    for (int i = 0; i < 80; i++) {
      many.add(IpAddress.parse(i % 2 == 0 ? "192.0.2." + i : "2001:db8::" + i));
    }
    final CompletableFuture<Set<IpAddress>> found = names.found(7, WWW, new Resolved(many, 60));
    enforcing.poll(10, TimeUnit.SECONDS).complete(null);
    final Set<IpAddress> applied = found.get(10, TimeUnit.SECONDS);
    assertEquals(50, applied.size());
    assertEquals(Set.copyOf(changes.get(0).get(WWW)), applied);
  }

  @Test
  void shouldGiveTheAddressesToEachNameOfTheChainThatARuleSelects() throws Exception {
    final String alias = "edge.example.net.";
    unselected.addAll(List.of(WWW, "other.example.net."));
    start();
    final List<IpAddress> addresses = List.of(IpAddress.parse("192.0.2.7"));
    final CompletableFuture<Set<IpAddress>> found =
        names.found(7, WWW, new Resolved(addresses, 60, List.of("other.example.net.", alias)));
    assertFalse(found.isDone());
    enforcing.poll(10, TimeUnit.SECONDS).complete(null);
    assertEquals(Set.copyOf(addresses), found.get(10, TimeUnit.SECONDS));
    assertEquals(Set.of(WWW, alias), changes.get(0).keySet());
    assertEquals(
        List.of(alias, WWW),
        names.list(7).stream().map(NameLookup::name).toList(),
        "the names of the endpoint");
  }

  /** The endpoint connects to no address that the rules have not got for each of the names. */
  @Test
  void shouldLeaveOutAnAddressThatALimitKeepsOutOfTheAlias() throws Exception {
    final String alias = "edge.example.net.";
    start();
    final List<IpAddress> many =
        IntStream.range(0, 50).mapToObj(i -> IpAddress.parse("192.0.2." + i)).toList();
    final CompletableFuture<Set<IpAddress>> full =
        names.found(7, "b.example.com.", new Resolved(many, 600, List.of(alias)));
    enforcement().complete(null);
    assertEquals(Set.copyOf(many), full.get(10, TimeUnit.SECONDS));
    final List<IpAddress> one = List.of(IpAddress.parse("192.0.2.77"));
    final CompletableFuture<Set<IpAddress>> found =
        names.found(7, WWW, new Resolved(one, 60, List.of(alias)));
    enforcement().complete(null);
    assertEquals(Set.of(), found.get(10, TimeUnit.SECONDS));
  }

  @Test
  void shouldGiveTheAddressesToTheAliasOfANameThatNoRuleCanHave() throws Exception {
    final List<IpAddress> one = List.of(IpAddress.parse("192.0.2.7"));
    start();
    final CompletableFuture<Set<IpAddress>> found =
        names.found(7, "a\\.b.example.com.", new Resolved(one, 60, List.of(WWW)));
    enforcement().complete(null);
    assertEquals(Set.copyOf(one), found.get(10, TimeUnit.SECONDS));
  }

  private CompletableFuture<Void> found(String name, String... texts) {
    return names.found(7, name, answer(texts)).thenAccept(applied -> {});
  }

  /** Closes the gate and has another thread bring an answer, which the gate holds. */
  private CompletableFuture<Void> foundBeforeTheGate(String name, String text) throws Exception {
    gate = new CompletableFuture<>();
    final int before = appends;
    final CompletableFuture<Void> found =
        CompletableFuture.supplyAsync(() -> found(name, text)).thenCompose(taken -> taken);
    while (appends == before) {
      Thread.sleep(1);
    }
    return found;
  }

  private CompletableFuture<Void> enforcement() throws InterruptedException {
    final CompletableFuture<Void> next = enforcing.poll(10, TimeUnit.SECONDS);
    assertTrue(next != null, "nothing is enforced");
    return next;
  }

  private static void await(CompletableFuture<Void> future) throws Exception {
    future.get(10, TimeUnit.SECONDS);
  }

  private Set<String> savedNames() {
    final Set<String> all = new HashSet<>();
    store.load().forEach(lookup -> all.add(lookup.name()));
    return all;
  }

  @Test
  void shouldTellWhenTheRulesUseNewAddressesWhichAreStored() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    final CompletableFuture<Void> change = enforcement();
    assertEquals(Set.of(WWW), savedNames(), "stored before it is enforced");
    assertFalse(first.isDone());
    change.complete(null);
    await(first);
    final NameLookup lookup = names.list(7).getFirst();
    assertEquals(7, lookup.endpointId());
    assertEquals(5, lookup.ttlSec());
    assertEquals(NameLookup.Source.LOOKUP, lookup.source());
    assertEquals(List.of(), names.list(8));
  }

  @Test
  void shouldTellAtOnceWhereTheRulesUseAllAddressesAlready() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7", "192.0.2.8");
    final CompletableFuture<Void> change = enforcement();
    assertFalse(found(WWW, "192.0.2.7").isDone(), "it is not enforced yet");
    change.complete(null);
    await(first);
    assertTrue(found(WWW, "192.0.2.8").isDone());
    assertFalse(found(WWW, "192.0.2.8", "192.0.2.9").isDone());
    enforcement().complete(null);
    final CompletableFuture<Void> other = foundBeforeTheGate("b.example.com.", "192.0.2.7");
    now.updateAndGet(time -> time.plusSeconds(57));
    final CompletableFuture<Void> late = found(WWW, "192.0.2.7");
    assertFalse(late.isDone(), "it could expire before the answer is taken");
    gate.complete(null);
    enforcement().complete(null);
    await(other);
    await(late);
    assertTrue(found(WWW, "192.0.2.7").isDone(), "it stays longer now");
  }

  @Test
  void shouldTellAtOnceWhereNoRuleSelectsTheNameAndStillStoreIt() throws Exception {
    unselected.add(WWW);
    start();
    assertTrue(found(WWW, "192.0.2.7").isDone());
    enforcement().complete(null);
    assertEquals(Set.of(WWW), savedNames());
    assertTrue(found("a\\.b.example.com.", "192.0.2.7").isDone(), "no rule can have that name");
    assertTrue(found(".", "192.0.2.7").isDone());
    assertTrue(found(WWW).isDone());
    assertEquals(1, names.list().size());
  }

  @Test
  void shouldLearnANameWithAnyCharacterThatNamesOfRulesHave() throws Exception {
    final String name = "_a-z.09.example.com.";
    start();
    final CompletableFuture<Void> found = found(name, "192.0.2.7");
    assertFalse(found.isDone());
    enforcement().complete(null);
    await(found);
    assertEquals(Set.of(name), savedNames());
  }

  @Test
  void shouldTakeAsManyAnswersAsBeforeAfterTheQueueWasFull() {
    final FoundNames queue = new FoundNames();
    final FoundNames.Found one = new FoundNames.Found(7, WWW, answer("192.0.2.7"), null);
    for (int i = 0; i < FoundNames.MOST; i++) {
      queue.add(one);
    }
    assertThrows(OperationException.class, () -> queue.add(one));
    int taken = 0;
    while (!queue.isEmpty()) {
      taken += queue.take().size();
    }
    assertEquals(FoundNames.MOST, taken);
    for (int i = 0; i < FoundNames.MOST; i++) {
      queue.add(one);
    }
    assertThrows(OperationException.class, () -> queue.add(one));
  }

  @Test
  void shouldEnforceTogetherWhatComesDuringAChange() throws Exception {
    start();
    final CompletableFuture<Void> first = foundBeforeTheGate(WWW, "192.0.2.7");
    final List<CompletableFuture<Void>> others = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      others.add(found("n" + i + ".example.com.", "192.0.2.8"));
    }
    gate.complete(null);
    final CompletableFuture<Void> change = enforcement();
    for (int i = 0; savedNames().size() < 1_001; i++) {
      assertTrue(i < 1_000, "not stored");
      Thread.sleep(10);
    }
    assertTrue(enforcing.isEmpty(), "one change at a time");
    assertTrue(others.stream().noneMatch(CompletableFuture::isDone));
    change.complete(null);
    await(first);
    enforcement().complete(null);
    await(CompletableFuture.allOf(others.toArray(CompletableFuture<?>[]::new)));
    synchronized (changes) {
      assertEquals(1_000, changes.get(1).size());
    }
    assertTrue(appends < 20, appends + " writes");
    assertTrue(syncs < 10, syncs + " syncs");
  }

  @Test
  void shouldNotWaitForTheDiskWhichGetsWhatCameMeanwhile() throws Exception {
    disk = new CompletableFuture<>();
    start();
    for (int i = 0; i < 3; i++) {
      final CompletableFuture<Void> found = found("n" + i + ".example.com.", "192.0.2.7");
      enforcement().complete(null);
      await(found);
      for (int tries = 0; syncsBegun == 0; tries++) {
        assertTrue(tries < 1_000, "the first is not synced");
        Thread.sleep(10);
      }
    }
    assertEquals(0, syncs);
    disk.complete(null);
    now.updateAndGet(time -> time.plusMillis(100));
    for (int i = 0; syncs < 2; i++) {
      assertTrue(i < 1_000, "what came while the disk was busy is not synced");
      Thread.sleep(10);
    }
    close();
    assertEquals(2, syncs, "there was nothing else");
  }

  @Test
  void shouldSyncBeforeTheEnd() throws Exception {
    disk = new CompletableFuture<>();
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    final Thread closing = Thread.ofPlatform().start(this::close);
    closing.join(200);
    assertTrue(closing.isAlive(), "it waits for the disk");
    disk.complete(null);
    closing.join();
    assertTrue(syncs > 0);
  }

  @Test
  void shouldFailWhatCannotBeStoredAndEnforceNoneOfIt() throws Exception {
    fails = true;
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    assertThrows(ExecutionException.class, () -> await(first));
    assertTrue(enforcing.isEmpty());
    fails = false;
    now.updateAndGet(time -> time.plusSeconds(2));
    enforcement().complete(null);
    assertEquals(Set.of(WWW), savedNames());
    await(found(WWW, "192.0.2.7"));
  }

  /** What was answered stays; a new address waits until all are stored anew. */
  @Test
  void shouldTakeNoNewAddressAfterTheDiskHasFailed() throws Exception {
    failsToSync = true;
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    CompletableFuture<Void> next = found("n0.example.com.", "192.0.2.8");
    for (int i = 1; !next.isCompletedExceptionally(); i++) {
      assertTrue(i < 1_000, "the failure of the disk is not noticed");
      enforceFor(next);
      next = next.isCompletedExceptionally() ? next : found("n" + i + ".example.com.", "192.0.2.8");
    }
    failsToSync = false;
    now.updateAndGet(time -> time.plusSeconds(2));
    final CompletableFuture<Void> last = found("b.example.com.", "192.0.2.7");
    enforceFor(last);
    await(last);
    assertTrue(savedNames().containsAll(Set.of(WWW, "b.example.com.")), savedNames().toString());
  }

  /** Enforces each change until the answer is there. */
  private void enforceFor(CompletableFuture<Void> answer) throws InterruptedException {
    for (int i = 0; !answer.isDone(); i++) {
      assertTrue(i < 1_000, "no answer");
      if (enforcing.poll(10, TimeUnit.MILLISECONDS) instanceof CompletableFuture<Void> change) {
        change.complete(null);
      }
    }
  }

  @Test
  void shouldFailWhatCannotBeEnforced() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().completeExceptionally(new OperationException("ENOSPC"));
    assertThrows(ExecutionException.class, () -> await(first));
    final CompletableFuture<Void> second = found(WWW, "192.0.2.7");
    assertFalse(second.isDone());
    now.updateAndGet(time -> time.plusSeconds(2));
    enforcement().complete(null);
    await(second);
  }

  /** What the kernel has of the name is not known, also of addresses that it had before. */
  @Test
  void shouldWaitForTheNextChangeOfANameAfterOneThatFailed() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    final CompletableFuture<Void> second = found(WWW, "192.0.2.8");
    enforcement().completeExceptionally(new OperationException("ENOSPC"));
    assertThrows(ExecutionException.class, () -> await(second));
    final CompletableFuture<Void> again = found(WWW, "192.0.2.7");
    assertFalse(again.isDone());
    now.updateAndGet(time -> time.plusSeconds(2));
    enforcement().complete(null);
    await(again);
  }

  @Test
  void shouldKnowAfterARestartWhatWasAnswered() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    // The first run is not closed, as if it was killed.
    final Names killed = names;
    start();
    assertEquals(7, names.list().getFirst().endpointId());
    assertTrue(found(WWW, "192.0.2.7").isDone());
    killed.close();
  }

  @Test
  void shouldForgetWhatARemovedEndpointLookedUp() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    names.endpointRemoved(8);
    names.endpointRemoved(7);
    enforcement().complete(null);
    synchronized (changes) {
      assertEquals(Map.of(WWW, Set.of()), changes.getLast());
    }
    assertEquals(List.of(), names.list());
    final CompletableFuture<Void> again = found(WWW, "192.0.2.7");
    assertFalse(again.isDone());
    enforcement().complete(null);
    await(again);
    names.keepEndpoints(Set.of(7));
    names.keepEndpoints(Set.of(8));
    enforcement().complete(null);
    assertEquals(List.of(), names.list());
  }

  @Test
  void shouldNotKnowAfterARestartWhatARemovedEndpointLookedUp() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    names.endpointRemoved(7);
    enforcement().complete(null);
    close();
    assertEquals(Set.of(), savedNames());
  }

  @Test
  void shouldAskForRemovedNamesAgain() throws Exception {
    start();
    final CompletableFuture<Void> first = found(WWW, "192.0.2.7");
    enforcement().complete(null);
    await(first);
    final CompletableFuture<Void> removed = names.remove(NamePattern.ALL);
    enforcement().complete(null);
    await(removed);
    assertFalse(found(WWW, "192.0.2.7").isDone());
  }

  @Test
  void shouldGiveUpFewNamesInOneChangeSoThatNewOnesDoNotWaitForAll() throws Exception {
    for (int i = 0; i < 28; i++) {
      saved.add(
          new NameLookup(
              "n" + i + ".example.com.",
              List.of(IpAddress.parse("192.0.2.7")),
              5,
              START,
              START.plusSeconds(60),
              NameLookup.Source.LOOKUP));
    }
    start();
    now.updateAndGet(time -> time.plusSeconds(61));
    final CompletableFuture<Void> first = enforcement();
    final CompletableFuture<Void> other = found(WWW, "192.0.2.8");
    first.complete(null);
    enforcement().complete(null);
    await(other);
    while (gone() < 28) {
      enforcement().complete(null);
    }
    synchronized (changes) {
      assertEquals(List.of(8, 9, 8, 4), changes.stream().map(Map::size).toList());
      assertTrue(changes.get(1).containsKey(WWW), "it is in the next change");
    }
  }

  private long gone() {
    synchronized (changes) {
      return changes.stream()
          .flatMap(change -> change.values().stream())
          .filter(Collection::isEmpty)
          .count();
    }
  }
}
