package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.bindings.libbpf.Libbpf;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.EndpointEntries;
import agent.datapath.manager.conductor.EntryOptions;
import agent.datapath.manager.conductor.InterfaceCells;
import agent.datapath.manager.conductor.IpcacheMaps;
import agent.datapath.manager.conductor.PolicyMaps;
import agent.datapath.manager.conductor.VerdictGenerations;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.load.MapPins;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy.PolicyChange;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PolicyMap;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyFlag;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Changes of policy maps are realized in bounded steps, between which the conductor executes the
 * commands of others. Steps and commands are counted, not timed: the thread of the test runs the
 * conductor.
 */
@KernelTest
class PolicyStepsKernelTest {
  private static final int ENTRIES = 5000;
  private static final int MOST = 100_000;
  private static final int WRITES_PER_STEP = 64;
  private static final int IDENTITY = 1001;
  private static final List<Integer> ENDPOINTS = List.of(5, 6, 7);

  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final MapRegistry registry = new MapRegistry();
  private final DatapathConductor conductor =
      new DatapathConductor(this::nowNs, new RefusedEntries(), () -> 0);
  private final List<String> writes = new ArrayList<>();
  private ManagerTestNode node;
  private OpenMaps maps;
  private VerdictGenerations generations;
  private InterfaceCells cells;
  private PolicyMaps policies;
  private IpcacheMaps ipcache;
  private int steps;
  private long nowNs;

  @BeforeEach
  void create() throws IOException {
    LibBpf.ensureLoaded();
    node = new ManagerTestNode();
    final DatapathContext context = node.context().policyMapMax(MOST).conclude();
    final Pins pins = Pins.prepare(context.bpfRoot());
    maps = OpenMaps.open(context, pins, registry, new MapPins(faults, repairs));
    generations = new VerdictGenerations(maps.get(MapCatalog.GENERATIONS), faults, repairs);
    final EndpointMap endpoints = new EndpointMap(maps.get(MapCatalog.ENDPOINTS));
    for (final int id : ENDPOINTS) {
      endpoints.edit(id).ifindex(id).identity(IDENTITY);
      assertEquals(0, endpoints.put());
    }
    cells =
        new InterfaceCells(
            conductor.immediateChanges(),
            maps.get(MapCatalog.INTERFACES),
            maps.get(MapCatalog.INTERFACES_OVERFLOW),
            faults,
            repairs);
    final EndpointEntries entries =
        new EndpointEntries(
            conductor.immediateChanges(),
            maps.get(MapCatalog.ENDPOINTS),
            cells,
            generations,
            faults,
            repairs,
            new EntryOptions(Set.of(), true));
    policies = new PolicyMaps(conductor, generations, maps, entries, List.of(), faults, repairs);
    ipcache =
        new IpcacheMaps(
            conductor,
            generations,
            maps.get(MapCatalog.IPCACHE4),
            maps.get(MapCatalog.IPCACHE6),
            faults,
            repairs);
  }

  @AfterEach
  void remove() throws IOException {
    conductor.onClose();
    policies.close();
    cells.close();
    generations.close();
    maps.close();
    node.close();
  }

  private long nowNs() {
    return nowNs;
  }

  private static List<PolicyEntry> entries(PolicyDirection direction, int count) {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (int identity = 1; identity <= count; identity++) {
      entries.add(PolicyEntry.allow(identity, direction, 6, 80));
    }
    return entries;
  }

  /** Runs the conductor until a call is answered; a command of another one is in each cycle. */
  private <T> T run(CompletableFuture<T> call) {
    steps = 0;
    while (!call.isDone()) {
      final AtomicInteger command = new AtomicInteger();
      conductor.run(command::incrementAndGet);
      final int before = writes.size();
      conductor.doWork();
      assertEquals(1, command.get(), "the command waits for one step at most");
      assertTrue(writes.size() - before <= WRITES_PER_STEP, "writes of one step");
      steps++;
    }
    return call.join();
  }

  private void record() {
    for (final BpfMap map : registry.snapshot()) {
      if (map.name().startsWith("policy_") || map.name().startsWith("ipcache")) {
        map.writeListener(new Recorder());
      }
    }
  }

  private final class Recorder implements MapWriteListener {
    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      writes.add(map.name());
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {
      writes.add(map.name() + " delete");
    }

    @Override
    public void onBulkWrite(BpfMap map) {
      writes.add(map.name() + " bulk");
    }
  }

  private void assertStepsFor(int written) {
    assertEquals(written, writes.size());
    final int least = written / WRITES_PER_STEP;
    assertTrue(steps >= least && steps <= 3 * least, steps + " steps for " + written);
    writes.clear();
  }

  @Test
  void shouldLeaveEveryCommandAtMostOneStepBehindAnImport() {
    for (final int id : ENDPOINTS) {
      run(policies.synchronize(id, 0, List.of()));
    }
    record();
    final List<PolicyEntry> before = entries(PolicyDirection.INGRESS, ENTRIES);
    final List<PolicyEntry> after = entries(PolicyDirection.EGRESS, ENTRIES);
    final List<PolicyChange> first = new ArrayList<>();
    final List<PolicyChange> second = new ArrayList<>();
    for (final int id : ENDPOINTS) {
      first.add(new PolicyChange(id, 0, PolicyDelta.between(List.of(), before)));
      second.add(new PolicyChange(id, 0, PolicyDelta.between(before, after)));
    }
    assertEquals(Map.of(), run(policies.apply(first)));
    assertStepsFor(3 * ENTRIES);
    assertEquals(Map.of(), run(policies.apply(second)), "in two rounds");
    assertStepsFor(6 * ENTRIES);
    for (final int id : ENDPOINTS) {
      assertEquals(PolicyDelta.NONE, run(policies.synchronize(id, 0, after)));
    }
    assertEquals(List.of(), writes);
  }

  @Test
  void shouldReadAndFillMapsInStepsToo() {
    final List<PolicyEntry> entries = entries(PolicyDirection.INGRESS, ENTRIES);
    run(policies.synchronize(5, IDENTITY, entries));
    run(policies.synchronize(6, IDENTITY, entries));
    assertEquals(1, registry.snapshot().stream().filter(PolicyStepsKernelTest::isPolicy).count());
    record();
    final PolicyDelta less = new PolicyDelta(List.of(), entries.subList(0, 1));
    final List<PolicyChange> alone = List.of(new PolicyChange(6, IDENTITY, less));
    assertEquals(Map.of(), run(policies.apply(alone)));
    assertTrue(steps >= ENTRIES / WRITES_PER_STEP, "a map of its own is filled in " + steps);
    assertEquals(List.of(), writes, "the map that it shared is not written");
    assertEquals(
        PolicyDelta.NONE, run(policies.synchronize(6, IDENTITY, entries.subList(1, ENTRIES))));
    assertTrue(steps >= ENTRIES / WRITES_PER_STEP, "read in " + steps);
    record();
    assertEquals(
        ENTRIES - 2, run(policies.synchronize(5, 0, entries.subList(0, 2))).deletes().size());
    assertStepsFor(ENTRIES - 2);
  }

  @Test
  void shouldNameWhatAFullMapRefusesAndWriteItOnceThereIsRoom() {
    final List<PolicyEntry> full = entries(PolicyDirection.INGRESS, MOST);
    run(policies.synchronize(5, 0, full));
    assertTrue(steps <= 2 * (MOST / WRITES_PER_STEP), steps + " steps");
    final List<PolicyEntry> more =
        List.of(PolicyEntry.allow(MOST + 1, PolicyDirection.INGRESS, 6, 80));
    final Map<Integer, RuntimeException> failures =
        run(policies.apply(List.of(new PolicyChange(5, 0, new PolicyDelta(more, List.of())))));
    final String refusal =
        "map policy_00005: update (ingress identity 100001 TCP/80): ENOSPC, 100000 of 100000 entries";
    assertEquals(refusal, failures.get(5).getMessage());
    assertTrue(policies.isBehind(5) && !policies.isBehind(6));
    assertEquals(
        "entries of map policy_00005: 1 not written, and retried: " + refusal,
        faults.of(5).getFirst().message());
    assertTrue(faults.of(5).getFirst().isRepairable());
    final PolicyDelta room = new PolicyDelta(List.of(), full.subList(0, 1));
    assertEquals(Map.of(), run(policies.apply(List.of(new PolicyChange(5, 0, room)))));
    final PolicyMap map = new PolicyMap(registry.find("policy_00005").orElseThrow());
    assertTrue(map.lookup(MOST + 1, 0, 6, 80, 64) < 0, "it is retried after a time");
    nowNs += TimeUnit.SECONDS.toNanos(10);
    conductor.doWork();
    assertEquals(0, map.lookup(MOST + 1, 0, 6, 80, 64));
    assertEquals(List.of(), faults.of(5));
  }

  /** Another program deletes, changes and adds an entry while the others are still written. */
  @Test
  void shouldRepairWhatOthersChangeDuringAChange() {
    run(policies.synchronize(5, 0, List.of()));
    final PolicyMap map = new PolicyMap(registry.find("policy_00005").orElseThrow());
    final PolicyDelta delta =
        PolicyDelta.between(List.of(), entries(PolicyDirection.INGRESS, ENTRIES));
    final CompletableFuture<?> changed = policies.apply(List.of(new PolicyChange(5, 0, delta)));
    while (map.lookup(100, 0, 6, 80, 64) < 0) {
      conductor.doWork();
      policies.guard().step(nowNs);
    }
    assertFalse(changed.isDone());
    assertEquals(0, map.delete(1, 0, 6, 80, 64));
    assertEquals(0, map.upsert(2, 0, 6, 80, 64, PolicyFlag.DENY.number(), 0));
    assertEquals(0, map.upsert(MOST, 0, 6, 80, 64, 0, 0));
    while (!changed.isDone()) {
      conductor.doWork();
      policies.guard().step(nowNs);
    }
    compareOnce(); // the rest of a round that has begun
    compareOnce();
    assertEquals(3, repaired());
    assertEquals(0, map.lookup(1, 0, 6, 80, 64));
    assertEquals(0, map.lookup(2, 0, 6, 80, 64));
    assertEquals(0, map.found().flags());
    assertEquals(ENTRIES, map.map().countEntries());
    compareOnce();
    assertEquals(3, repaired());
    assertEquals(List.of(), faults.of(5));
  }

  private void compareOnce() {
    while (policies.guard().step(nowNs) != Check.Progress.DONE) {}
  }

  private long repaired() {
    final long[] count = new long[1];
    repairs.forEach((kind, number) -> count[0] += number);
    return count[0];
  }

  private static boolean isPolicy(BpfMap map) {
    return map.name().startsWith("policy_");
  }

  /** It would have the former policy of the others meanwhile. */
  @Test
  void shouldNotMoveAnEndpointToAMapThatIsStillToBeWritten() {
    final PolicyEntry own = PolicyEntry.allow(100_000, PolicyDirection.INGRESS, 6, 80);
    final PolicyEntry others = PolicyEntry.allow(100_001, PolicyDirection.INGRESS, 6, 80);
    final List<PolicyEntry> after = entries(PolicyDirection.INGRESS, ENTRIES);
    run(policies.synchronize(5, IDENTITY, List.of(others)));
    run(policies.synchronize(6, IDENTITY, List.of(own)));
    record();
    final CompletableFuture<?> changed =
        policies.apply(
            List.of(
                new PolicyChange(5, IDENTITY, new PolicyDelta(after, List.of(others))),
                new PolicyChange(6, IDENTITY, new PolicyDelta(after, List.of(own)))));
    final EndpointMap endpoints = new EndpointMap(maps.get(MapCatalog.ENDPOINTS));
    while (!changed.isDone()) {
      assertEquals(0, endpoints.lookup(6));
      final int number = endpoints.found().policyId();
      assertEquals(writes.size() < ENTRIES + 1 ? 6 : 5, number, writes.size() + " written");
      conductor.doWork();
    }
    assertEquals(ENTRIES + 1, writes.size(), "one map is written");
    assertEquals(1, registry.snapshot().stream().filter(PolicyStepsKernelTest::isPolicy).count());
  }

  /** The others' map is repaired; what another program has written into it is not desired. */
  @Test
  void shouldNotDesireAForeignEntryOfAMapThatAnEndpointLeaves() {
    final List<PolicyEntry> entries = entries(PolicyDirection.INGRESS, 3);
    run(policies.synchronize(5, IDENTITY, entries));
    run(policies.synchronize(6, IDENTITY, entries));
    final BpfMap map = registry.find("policy_00005").orElseThrow();
    assertEquals(0, new PolicyMap(map).upsert(77, 0, 6, 80, 64, 0, 0));
    assertEquals(2, run(policies.synchronize(6, IDENTITY, entries.subList(0, 2))).deletes().size());
    assertEquals(3, map.countEntries());
    assertEquals(PolicyDelta.NONE, run(policies.synchronize(5, IDENTITY, entries)));
  }

  private static IpcacheChange added(int number) {
    final Prefix prefix = Prefix.parse("192.%d.%d.0/24".formatted(number / 256, number % 256));
    return new IpcacheChange(null, new IpcacheEntry(prefix, 7, 0, false));
  }

  /** What an ipcache entry refers to is in the policy maps before it. */
  @Test
  void shouldWriteIpcacheEntriesBehindThePoliciesThatWereRequestedBefore() {
    run(policies.synchronize(5, 0, List.of()));
    run(ipcache.synchronize(List.of()));
    record();
    final PolicyDelta delta =
        PolicyDelta.between(List.of(), entries(PolicyDirection.EGRESS, ENTRIES));
    final CompletableFuture<?> first = policies.apply(List.of(new PolicyChange(5, 0, delta)));
    final CompletableFuture<Void> second = ipcache.apply(List.of(added(1)));
    final IpcacheEntry before = added(1).after();
    final CompletableFuture<Void> third =
        ipcache.apply(List.of(new IpcacheChange(before, null), added(2)));
    run(third);
    assertTrue(first.isDone());
    assertTrue(second.isDone());
    assertEquals(List.of("ipcache4", "ipcache4", "ipcache4 delete"), last(3));
    assertEquals(ENTRIES + 3, writes.size());
  }

  private List<String> last(int count) {
    return writes.subList(writes.size() - count, writes.size());
  }

  @Test
  void shouldNotKeepAPolicyWaitingForAnImportIntoTheIpcache() {
    run(policies.synchronize(5, 0, List.of()));
    run(ipcache.synchronize(List.of()));
    record();
    final List<IpcacheChange> many = new ArrayList<>();
    for (int number = 0; number < ENTRIES; number++) {
      many.add(added(number));
    }
    final CompletableFuture<Void> imported = ipcache.apply(many);
    conductor.doWork();
    final List<PolicyEntry> entry = entries(PolicyDirection.EGRESS, 1);
    final CompletableFuture<?> changed =
        policies.apply(List.of(new PolicyChange(5, 0, PolicyDelta.between(List.of(), entry))));
    conductor.doWork();
    assertTrue(changed.isDone());
    assertTrue(writes.contains("policy_00005"));
    assertFalse(imported.isDone());
    run(imported);
    assertEquals(ENTRIES + 1, writes.size());
  }

  /** Adds an entry of an identity that no address is to have; returns whether verdicts stay. */
  private boolean keepsVerdicts(int identity) {
    final PolicyDelta gains =
        new PolicyDelta(
            List.of(PolicyEntry.allow(identity, PolicyDirection.EGRESS, 6, 80)), List.of());
    try (GenerationArray array = new GenerationArray(maps.get(MapCatalog.GENERATIONS))) {
      final long before = array.get(5);
      assertEquals(Map.of(), run(policies.apply(List.of(new PolicyChange(5, 0, gains, true)))));
      return array.get(5) == before;
    }
  }

  /** The entry of a prefix that no rule names any more could not be removed. */
  @Test
  void shouldJudgeAgainWhereAnAddressMayStillHaveAnIdentityThatGainsEntries() {
    run(policies.synchronize(5, 0, List.of()));
    run(ipcache.synchronize(List.of(added(1))));
    assertTrue(keepsVerdicts(100));
    final BpfMap map = maps.get(MapCatalog.IPCACHE4);
    assertEquals(0, Libbpf.bpf_map_freeze(map.fd()));
    final IpcacheChange removal = new IpcacheChange(added(1).after(), null);
    final CompletableFuture<Void> refused = ipcache.apply(List.of(removal));
    assertThrows(CompletionException.class, () -> run(refused));
    assertEquals(1, map.countEntries());
    assertFalse(keepsVerdicts(7));
  }

  @Test
  void shouldJudgeAgainWhileARemovalIsNotSent() {
    run(policies.synchronize(5, 0, List.of()));
    run(ipcache.synchronize(List.of(added(1))));
    CompletableFuture<Void> last;
    do {
      last = conductor.run(() -> {});
    } while (!last.isDone()); // until the queue is full
    final IpcacheChange removal = new IpcacheChange(added(1).after(), null);
    assertTrue(ipcache.apply(List.of(removal)).isCompletedExceptionally());
    while (conductor.doWork() > 0) {}
    assertFalse(keepsVerdicts(7));
    run(ipcache.apply(List.of()));
    assertEquals(0, maps.get(MapCatalog.IPCACHE4).countEntries());
    assertTrue(keepsVerdicts(8));
  }

  private void assertOneCommand(CompletableFuture<?> call, int written) {
    final long before = conductor.executed();
    conductor.doWork();
    assertTrue(call.isDone());
    assertEquals(1, conductor.executed() - before, "commands and steps");
    assertEquals(written, writes.size());
    writes.clear();
  }

  /** Also one that reads the map before, and one of two rounds with two parts each. */
  @Test
  void shouldRealizeASmallCallInTheCommandThatBringsIt() {
    final List<PolicyEntry> before = entries(PolicyDirection.INGRESS, 5);
    final List<PolicyEntry> after = entries(PolicyDirection.EGRESS, 5);
    assertOneCommand(policies.synchronize(5, 0, before), 0);
    assertOneCommand(policies.synchronize(6, 0, after), 0);
    record();
    assertOneCommand(policies.synchronize(5, 0, after), 10);
    assertOneCommand(
        policies.apply(
            List.of(
                new PolicyChange(5, 0, PolicyDelta.between(after, before)),
                new PolicyChange(6, 0, PolicyDelta.between(after, before)))),
        20);
    assertEquals(PolicyDelta.NONE, run(policies.synchronize(6, 0, before)));
  }

  /** Also of a change that did not reach the thread, of which no table knows. */
  @Test
  void shouldBeBehindFromARefusalToTheNextSynchronization() {
    final List<PolicyEntry> entries = entries(PolicyDirection.INGRESS, 2);
    final PolicyDelta delta = PolicyDelta.between(List.of(), entries);
    assertEquals(Set.of(5), run(policies.apply(List.of(new PolicyChange(5, 0, delta)))).keySet());
    assertTrue(policies.isBehind(5), "it has no map");
    run(policies.synchronize(5, 0, List.of()));
    run(policies.synchronize(6, 0, List.of()));
    assertFalse(policies.isBehind(5));
    CompletableFuture<Void> last;
    do {
      last = conductor.run(() -> {});
    } while (!last.isDone()); // until the queue is full
    final PolicyChange change = new PolicyChange(5, 0, delta);
    assertTrue(policies.apply(List.of(change)).isCompletedExceptionally());
    assertTrue(policies.synchronize(5, 0, entries).isCompletedExceptionally());
    while (conductor.doWork() > 0) {}
    assertTrue(policies.isBehind(5) && !policies.isBehind(6));
    run(policies.synchronize(5, 0, entries));
    assertFalse(policies.isBehind(5));
    assertEquals(Map.of(), run(policies.apply(List.of(change))));
    assertFalse(policies.isBehind(5));
  }

  @Test
  void shouldFailWhatWaitsWhenTheConductorIsClosed() {
    run(policies.synchronize(5, 0, List.of()));
    final PolicyDelta delta =
        PolicyDelta.between(List.of(), entries(PolicyDirection.EGRESS, ENTRIES));
    final CompletableFuture<?> begun = policies.apply(List.of(new PolicyChange(5, 0, delta)));
    final CompletableFuture<?> waiting = policies.synchronize(6, 0, List.of());
    conductor.doWork();
    conductor.doWork();
    assertFalse(begun.isDone());
    conductor.onClose();
    assertTrue(begun.isCompletedExceptionally());
    assertTrue(waiting.isCompletedExceptionally());
    assertTrue(policies.synchronize(5, 0, List.of()).isCompletedExceptionally());
  }
}
