package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Changes of the deny list that wait are enforced and stored together, each for itself. */
@KernelTest
@Timeout(60)
class PrefilterGroupKernelTest {
  private static final String DEVICE = "grp0";
  private static final int CHANGES = 12;
  private static final Prefix FIRST = Prefix.parse("198.51.100.0/24");
  private static final Prefix BAD = Prefix.parse("203.0.113.66/32");

  /** A store that holds the first change back, counts, and cannot store one prefix. */
  private static final class HeldStore implements PrefilterStore {
    private final PrefilterStore kept = PrefilterStore.inMemory();
    private final CountDownLatch isStoring = new CountDownLatch(1);
    private final CountDownLatch mayStore = new CountDownLatch(1);
    private int stores;

    @Override
    public Optional<PrefilterList> load() {
      return kept.load();
    }

    @Override
    public void store(PrefilterList list) {
      stores++;
      if (list.deny().contains(BAD)) {
        throw new OperationException("disk full");
      }
      isStoring.countDown();
      try {
        mayStore.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      kept.store(list);
    }
  }

  private final HeldStore store = new HeldStore();
  private final Map<Integer, PrefilterList> results = new ConcurrentHashMap<>();
  private final Map<Integer, RuntimeException> failures = new ConcurrentHashMap<>();
  private ManagerTestNode node;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    VethPair.create(node.namespace(), DEVICE, node.namespace(), "grp1");
  }

  @AfterEach
  void remove() throws IOException {
    node.close();
  }

  private static Prefix own(int number) {
    return Prefix.parse("203.0.113." + number + "/32");
  }

  private Thread changing(int number, Prefilter prefilter, OptionalLong revision, Prefix prefix) {
    return Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                results.put(number, prefilter.add(revision, List.of(prefix)));
              } catch (RuntimeException failure) {
                failures.put(number, failure);
              }
            });
  }

  /** Makes changes while the first one is being stored; all of them wait for it. */
  private void changeTogether(Prefilter prefilter, Prefix last) throws InterruptedException {
    final List<Thread> threads = new ArrayList<>();
    threads.add(changing(0, prefilter, OptionalLong.empty(), FIRST));
    store.isStoring.await();
    for (int i = 1; i < CHANGES; i++) {
      final OptionalLong revision = i == 5 ? OptionalLong.of(99) : OptionalLong.empty();
      threads.add(changing(i, prefilter, revision, i == 6 ? FIRST : own(i)));
    }
    threads.add(changing(CHANGES, prefilter, OptionalLong.empty(), last));
    for (final Thread thread : threads.subList(1, threads.size())) {
      while (thread.getState() != Thread.State.WAITING) {
        Thread.sleep(1);
      }
    }
    store.mayStore.countDown();
    for (final Thread thread : threads) {
      thread.join();
    }
  }

  private void checkOthers(Prefilter prefilter) {
    assertEquals(Refusal.Kind.STALE, ((Refusal) failures.get(5)).kind());
    for (int i = 1; i < CHANGES; i++) {
      if (i != 5) {
        final PrefilterList result = results.get(i);
        assertTrue(result.deny().contains(i == 6 ? FIRST : own(i)), "change " + i);
      }
    }
    assertEquals(prefilter.get(), store.load().orElseThrow());
    try (AttachedPrefilter attached = new AttachedPrefilter(node)) {
      for (int i = 1; i < CHANGES; i++) {
        assertEquals(
            i == 5 || i == 6 ? AttachedPrefilter.PASS : AttachedPrefilter.DROP,
            attached.verdict(AttachedPrefilter.frame(own(i).address(), 0)),
            "source " + i);
      }
      assertEquals(
          AttachedPrefilter.DROP,
          attached.verdict(AttachedPrefilter.frame(IpAddress.parse("198.51.100.9"), 0)));
    }
  }

  @Test
  void shouldEnforceAndStoreWhatWaitsOnceAndRefuseEachForItself() throws Exception {
    try (DatapathManager manager =
        node.launch(node.context().prefilterDevice(DEVICE).prefilterStore(store))) {
      final Prefilter prefilter = manager.prefilter();
      final long before = prefilter.get().revision();
      changeTogether(prefilter, own(CHANGES));
      assertEquals(2, store.stores, "the first one, and all that waited");
      assertEquals(1, failures.size());
      // The stale one and the one that is listed already change nothing.
      assertEquals(before + CHANGES - 1, prefilter.get().revision());
      assertEquals(
          CHANGES - 1, results.values().stream().map(PrefilterList::revision).distinct().count());
      checkOthers(prefilter);
    }
  }

  @Test
  void shouldFailOnlyTheChangeThatCannotBeStored() throws Exception {
    try (DatapathManager manager =
        node.launch(node.context().prefilterDevice(DEVICE).prefilterStore(store))) {
      final Prefilter prefilter = manager.prefilter();
      changeTogether(prefilter, BAD);
      assertEquals("disk full", failures.get(CHANGES).getMessage());
      assertEquals(2, failures.size());
      checkOthers(prefilter);
      try (AttachedPrefilter attached = new AttachedPrefilter(node)) {
        assertEquals(
            AttachedPrefilter.PASS, attached.verdict(AttachedPrefilter.frame(BAD.address(), 0)));
      }
    }
  }

  @Test
  void shouldRefuseMoreThanTheLimitAndRaiseTheRevisionOnlyWithAChange() {
    store.mayStore.countDown();
    try (DatapathManager manager =
        node.launch(node.context().prefilterDevice(DEVICE).prefilterStore(store).maxPrefixes(2))) {
      final Prefilter prefilter = manager.prefilter();
      final PrefilterList two = prefilter.add(OptionalLong.empty(), List.of(own(1), own(2)));
      final Refusal refusal =
          assertThrows(Refusal.class, () -> prefilter.add(OptionalLong.empty(), List.of(own(3))));
      assertEquals(
          "deny: the list would have 3 prefixes, the limit is 2 (--max-prefixes)",
          refusal.getMessage());
      assertEquals(Refusal.Kind.OVER_LIMIT, refusal.kind());
      assertEquals(two, prefilter.add(OptionalLong.empty(), List.of(own(1))));
      assertEquals(two, prefilter.remove(OptionalLong.empty(), List.of(own(3))));
      assertEquals(1, store.stores);
      final PrefilterList one = prefilter.remove(OptionalLong.empty(), List.of(own(2)));
      assertEquals(two.revision() + 1, one.revision());
    }
  }
}
