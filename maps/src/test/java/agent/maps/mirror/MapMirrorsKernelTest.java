package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.Prefilter4Trie;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.CloseHelper;
import org.agrona.concurrent.AgentRunner;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@KernelTest
@Timeout(60)
class MapMirrorsKernelTest {
  private static final int TCP = 6;
  private static final long INTERVAL_NS = TimeUnit.SECONDS.toNanos(5);

  private final MapRegistry registry = new MapRegistry();
  private final List<BpfMap> opened = new ArrayList<>();
  private final List<Throwable> errors = new ArrayList<>();
  private final AtomicLong nowNs = new AtomicLong(1_000_000_000_000L);
  private final AtomicLong nowMs = new AtomicLong(1_000_000L);

  @TempDir private Path directory;
  private MapMirrors mirrors;
  private AgentRunner runner;

  @BeforeEach
  void makeMirrors() {
    mirrors =
        new MapMirrors(
            new MapMirrors.Context()
                .registry(registry)
                .nanoClock(nowNs::get)
                .epochClock(nowMs::get)
                .refreshIntervalNs(INTERVAL_NS)
                .journalBytes(1 << 12)
                .sharedEntries(1 << 14)
                .directory(directory));
    runner = new AgentRunner(mirrors.idleStrategy(), errors::add, null, mirrors.agent());
  }

  private void start() throws InterruptedException {
    AgentRunner.startOnThread(runner);
    ((MirrorAgent) mirrors.agent()).want();
    final long deadlineMs = System.currentTimeMillis() + 20_000;
    while (!((MirrorAgent) mirrors.agent()).open()) {
      assertTrue(System.currentTimeMillis() < deadlineMs, "the store did not open");
      Thread.sleep(5);
    }
  }

  @AfterEach
  void close() {
    CloseHelper.close(runner);
    opened.forEach(BpfMap::close);
    assertEquals(List.of(), errors);
  }

  private BpfMap register(MapDefinition definition) {
    final BpfMap map = BpfMap.create(definition, "/somewhere/" + definition.name(), 0);
    opened.add(map);
    registry.add(map);
    return map;
  }

  /** Reads a map into one line an entry, and keeps its summary. */
  private final class Reader implements MapVisitor {
    private final Map<String, String> lines = new TreeMap<>();
    private MapSummary summary;
    private long mirroredAtMs;

    @Override
    public void onMap(MapSummary map, long copiedAtMs) {
      assertNull(summary);
      summary = map;
      mirroredAtMs = copiedAtMs;
    }

    @Override
    public boolean onEntry(
        CharSequence key, CharSequence value, DesiredAction action, String lastError) {
      final String line =
          value + (action == DesiredAction.OK ? "" : " " + action.text() + " " + lastError);
      assertNull(lines.put(key.toString(), line), "twice: " + key);
      return true;
    }
  }

  private Reader read(String name) {
    final Reader reader = new Reader();
    assertTrue(mirrors.read(name, reader));
    return reader;
  }

  @Test
  void shouldShowWhatTheAgentWroteBeforeAndAfterTheStoreOpens() throws Exception {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(12)));
    policy.upsert(2031, 0, TCP, 443, 64, 0, 0);
    assertEquals(Map.of("ingress identity 2031 TCP/443", "allow"), read("policy_00012").lines);
    start();
    assertEquals(Map.of("ingress identity 2031 TCP/443", "allow"), read("policy_00012").lines);
    policy.upsert(2031, 0, TCP, 443, 64, 1, 0);
    policy.upsert(7, 1, TCP, 80, 64, 0, 0);
    final Reader reader = read("policy_00012");
    assertEquals(
        Map.of("ingress identity 2031 TCP/443", "deny", "egress identity 7 TCP/80", "allow"),
        reader.lines);
    assertEquals(
        new MapSummary(
            "/somewhere/policy_00012", "policy_00012", "lpm_trie", 12, 4, 16384, 2, 1, 2.0 / 16384),
        reader.summary);
    policy.delete(2031, 0, TCP, 443, 64);
    assertEquals(Map.of("egress identity 7 TCP/80", "allow"), read("policy_00012").lines);
    assertEquals(1, mirrors.describe("policy_00012").orElseThrow().entries());
  }

  @Test
  void shouldOpenTheStoreWhenAReaderFirstAsks() throws Exception {
    register(NodeMaps.policy(2));
    AgentRunner.startOnThread(runner);
    mirrors.describe();
    Thread.sleep(200);
    assertFalse(((MirrorAgent) mirrors.agent()).open());
    assertEquals(Map.of(), read("policy_00002").lines);
    final long deadlineMs = System.currentTimeMillis() + 20_000;
    while (!((MirrorAgent) mirrors.agent()).open()) {
      assertTrue(System.currentTimeMillis() < deadlineMs, "the store did not open");
      Thread.sleep(5);
    }
  }

  @Test
  void shouldServeAJournalledMapFromItsCopyAlone() throws Exception {
    final BpfMap map = register(NodeMaps.policy(1));
    new PolicyMap(map).upsert(5, 0, 0, 0, 40, 0, 0);
    start();
    assertEquals(1, read("policy_00001").lines.size());
    map.writeListener(agent.maps.kernel.MapWriteListener.NONE); // a write that is not noted
    new PolicyMap(map).upsert(6, 0, 0, 0, 40, 0, 0);
    assertEquals(Map.of("ingress identity 5", "allow"), read("policy_00001").lines);
  }

  @Test
  void shouldCopyAnewWhenTheJournalOverflowed() throws Exception {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(3)));
    start();
    assertEquals(0, read("policy_00003").lines.size());
    for (int identity = 1; identity <= 5_000; identity++) { // far more than the journal holds
      assertEquals(0, policy.upsert(identity, 0, 0, 0, 40, 0, 0));
    }
    assertEquals(5_000, read("policy_00003").lines.size());
    assertEquals(5_000, mirrors.describe("policy_00003").orElseThrow().entries());
    for (int identity = 1; identity <= 5_000; identity += 2) {
      assertEquals(0, policy.delete(identity, 0, 0, 0, 40));
    }
    assertEquals(2_500, read("policy_00003").lines.size());
  }

  @Test
  void shouldListUsedSlotsOfAnArrayAlone() throws Exception {
    final EndpointMap endpoints = new EndpointMap(register(NodeMaps.ENDPOINTS));
    endpoints.set(9, 7, 2031, 1, 2, 0);
    start();
    assertEquals(1, read("endpoints").lines.size());
    endpoints.set(10, 8, 2031, 1, 2, 0);
    assertEquals(2, read("endpoints").lines.size());
    endpoints.clear(9);
    final Reader reader = read("endpoints");
    assertEquals(1, reader.lines.size());
    assertTrue(reader.lines.containsKey("endpoint 10"));
    assertEquals(1, reader.summary.entries());
  }

  @Test
  void shouldRefreshAKernelWrittenMapWhenItsCopyIsTooOld() throws Exception {
    final BpfMap map = register(NodeMaps.CONNTRACK4_TCP.withMaxEntries(1024));
    final Conntrack4Map flows = new Conntrack4Map(map);
    flows.foundKey().clear().lowAddress(0x0a010007).lowPort(43210).protocol(TCP);
    flows.foundKey().highAddress(0x0a010009).highPort(80);
    flows.found().clear().endpointId(0, 3);
    assertEquals(0, flows.put());
    start();
    final Reader first = read("conntrack4_tcp");
    assertEquals(
        List.of("10.1.0.7:43210 -> 10.1.0.9:80 TCP out"), List.copyOf(first.lines.keySet()));
    assertEquals(nowMs.get(), first.mirroredAtMs);

    final long copiedAtMs = nowMs.get();
    assertEquals(0, flows.deleteFound());
    nowMs.addAndGet(4_999);
    nowNs.addAndGet(INTERVAL_NS - 1);
    final Reader second = read("conntrack4_tcp");
    assertEquals(1, second.lines.size());
    assertEquals(copiedAtMs, second.mirroredAtMs);

    nowMs.addAndGet(1);
    nowNs.addAndGet(1);
    final Reader third = read("conntrack4_tcp");
    assertEquals(0, third.lines.size());
    assertEquals(nowMs.get(), third.mirroredAtMs);
  }

  @Test
  void shouldCopyALargeAgentWrittenMapWhenItChanged() throws Exception {
    final Prefilter4Trie trie =
        new Prefilter4Trie(register(NodeMaps.PREFILTER4.withMaxEntries(20_000)));
    start();
    assertEquals(0, read("prefilter4").lines.size());
    for (int i = 0; i < 10_000; i++) {
      if (trie.stage(i << 8, 24) || i == 9_999) {
        assertEquals(0, trie.insertStaged());
      }
    }
    final Reader reader = read("prefilter4");
    assertEquals(10_000, reader.lines.size());
    assertEquals("deny", reader.lines.get("0.0.1.0/24"));
    assertEquals(0.5, mirrors.describe("prefilter4").orElseThrow().pressure());
    assertEquals(0, trie.delete(1 << 8, 24));
    assertFalse(read("prefilter4").lines.containsKey("0.0.1.0/24"));
  }

  @Test
  void shouldReadAMapThatHoldsTooMuchFromTheKernel() throws Exception {
    final BpfMap map = register(NodeMaps.PREFILTER4);
    final Prefilter4Trie trie = new Prefilter4Trie(map);
    for (int i = 0; i <= MirrorRefresh.LARGEST_COPY; i++) {
      if (trie.stage(i << 8, 24) || i == MirrorRefresh.LARGEST_COPY) {
        assertEquals(0, trie.insertStaged());
      }
    }
    start();
    assertEquals(MirrorRefresh.LARGEST_COPY + 1, read("prefilter4").lines.size());
    assertEquals(0, trie.delete(0, 24));
    assertEquals(MirrorRefresh.LARGEST_COPY, read("prefilter4").lines.size());
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(60));
    assertEquals(MirrorRefresh.LARGEST_COPY, read("prefilter4").lines.size());
    map.writeListener(agent.maps.kernel.MapWriteListener.NONE);
    assertEquals(0, trie.delete(1 << 8, 24));
    assertEquals(MirrorRefresh.LARGEST_COPY, read("prefilter4").lines.size(), "now from the copy");
  }

  @Test
  void shouldShowARefusedWriteAndTryItAgain() throws Exception {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(4).withMaxEntries(1)));
    start();
    assertEquals(0, policy.upsert(1, 0, 0, 0, 40, 0, 0));
    assertTrue(policy.upsert(2, 0, 0, 0, 40, 1, 0) < 0);
    assertEquals(
        Map.of("ingress identity 1", "allow", "ingress identity 2", "deny insert update: ENOSPC"),
        read("policy_00004").lines);
    assertEquals(1, mirrors.unrealised());

    final List<BpfMap> realised = new ArrayList<>();
    policy.map().retriesRefused(true);
    assertEquals(0, mirrors.reconcile(10, realised::add));
    assertEquals(0, policy.delete(1, 0, 0, 0, 40));
    assertEquals(0, mirrors.reconcile(10, realised::add), "within a second of the last try");
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertEquals(1, mirrors.reconcile(10, realised::add));
    assertEquals(List.of(policy.map()), realised);
    assertEquals(0, mirrors.unrealised());
    assertEquals(Map.of("ingress identity 2", "deny"), read("policy_00004").lines);
  }

  @Test
  void shouldTryNoMoreRefusedWritesThanTheLimit() {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(4).withMaxEntries(2)));
    for (int identity = 1; identity <= 10; identity++) {
      policy.upsert(identity, 0, 0, 0, 40, 0, 0);
    }
    assertEquals(8, mirrors.unrealised());
    policy.delete(1, 0, 0, 0, 40);
    policy.delete(2, 0, 0, 0, 40);
    policy.map().retriesRefused(true);
    assertEquals(1, mirrors.reconcile(1, map -> {}));
    assertEquals(7, mirrors.unrealised());
    assertEquals(0, policy.lookup(3, 0, 0, 0, 40), "the oldest comes first");
  }

  @Test
  void shouldTryNothingAgainThatTheWriterMayNotWantAnyMore() {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(4).withMaxEntries(1)));
    policy.upsert(1, 0, 0, 0, 40, 0, 0);
    assertTrue(policy.upsert(2, 0, 0, 0, 40, 0, 0) < 0);
    policy.delete(1, 0, 0, 0, 40);
    assertEquals(0, mirrors.reconcile(10, map -> {}), "retries are off at first");
    policy.map().retriesRefused(true);
    policy.map().forgetRefused();
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertEquals(0, mirrors.reconcile(10, map -> {}));
    assertEquals(0, policy.map().countEntries());
    assertEquals(0, mirrors.unrealised());
  }

  @Test
  void shouldNotHoldUpOtherMapsForOneThatIsFull() {
    final PolicyMap full = new PolicyMap(register(NodeMaps.policy(4).withMaxEntries(1)));
    final PolicyMap free = new PolicyMap(register(NodeMaps.policy(5).withMaxEntries(1)));
    for (int identity = 1; identity <= 10; identity++) {
      full.upsert(identity, 0, 0, 0, 40, 0, 0);
    }
    free.upsert(1, 0, 0, 0, 40, 0, 0);
    free.upsert(2, 0, 0, 0, 40, 0, 0);
    free.delete(1, 0, 0, 0, 40);
    full.map().retriesRefused(true);
    free.map().retriesRefused(true);
    assertEquals(1, mirrors.reconcile(2, map -> {}));
    assertEquals(0, free.lookup(2, 0, 0, 0, 40));
  }

  @Test
  void shouldForgetARefusedWriteThatIsNoLongerWanted() {
    final BpfMap map = register(NodeMaps.policy(4).withMaxEntries(1));
    final PolicyMap policy = new PolicyMap(map);
    policy.upsert(1, 0, 0, 0, 40, 0, 0);
    assertTrue(policy.upsert(2, 0, 0, 0, 40, 0, 0) < 0);
    assertTrue(policy.upsert(3, 0, 0, 0, 40, 0, 0) < 0);
    policy.delete(2, 0, 0, 0, 40);
    assertEquals(1, mirrors.unrealised());
    registry.remove(map);
    assertEquals(0, mirrors.unrealised());
  }

  @Test
  void shouldBeSafeWhenAMapGoesAwayWhileItIsRead() throws Exception {
    final BpfMap map = register(NodeMaps.policy(5));
    final PolicyMap policy = new PolicyMap(map);
    for (int identity = 1; identity <= 3_000; identity++) {
      policy.upsert(identity, 0, 0, 0, 40, 0, 0);
    }
    start();
    for (int round = 0; round < 2; round++) {
      final int[] seen = new int[1];
      final boolean last = round == 1;
      final boolean found =
          mirrors.read(
              "policy_00005",
              new MapVisitor() {
                @Override
                public void onMap(MapSummary summary, long mirroredAtMs) {}

                @Override
                public boolean onEntry(
                    CharSequence key, CharSequence value, DesiredAction action, String error) {
                  if (last && ++seen[0] == 10) {
                    registry.remove(map);
                    map.close();
                  }
                  return true;
                }
              });
      assertTrue(found);
      assertTrue(!last || seen[0] >= 10);
    }
    assertFalse(mirrors.read("policy_00005", new Reader()));
    assertTrue(mirrors.describe("policy_00005").isEmpty());
    assertFalse(map.retain());
    final PolicyMap again = new PolicyMap(register(NodeMaps.policy(5)));
    again.upsert(9, 0, 0, 0, 40, 0, 0);
    assertEquals(Map.of("ingress identity 9", "allow"), read("policy_00005").lines);
  }

  @Test
  void shouldStopReadingWhenTheVisitorHasEnough() throws Exception {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(6)));
    for (int identity = 1; identity <= 100; identity++) {
      policy.upsert(identity, 0, 0, 0, 40, 0, 0);
    }
    start();
    final int[] seen = new int[1];
    mirrors.read(
        "policy_00006",
        new MapVisitor() {
          @Override
          public void onMap(MapSummary map, long mirroredAtMs) {}

          @Override
          public boolean onEntry(
              CharSequence key, CharSequence value, DesiredAction action, String error) {
            return ++seen[0] < 3;
          }
        });
    assertEquals(3, seen[0]);
  }

  @Test
  void shouldReadFromTheKernelAfterTheAgentHasEnded() throws Exception {
    final BpfMap map = register(NodeMaps.METRICS);
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, 0);
    entry.value().setMemory(0, map.copiedValueSize(), (byte) 0);
    entry.value().putLong(0, 3);
    assertEquals(0, map.update(entry, 0));
    start();
    assertEquals(Map.of("ingress forwarded", "3 packets, 0 bytes"), read("metrics").lines);
    runner.close();
    assertEquals(Map.of("ingress forwarded", "3 packets, 0 bytes"), read("metrics").lines);
  }

  @Test
  void shouldDescribeEveryMap() {
    register(NodeMaps.EVENTS);
    register(NodeMaps.GENERATIONS);
    register(NodeMaps.policy(1));
    assertEquals(
        List.of("events", "generations", "policy_00001"),
        mirrors.describe().stream().map(MapSummary::name).toList());
    assertEquals("ringbuf", mirrors.describe().getFirst().type());
    assertEquals(0, read("events").lines.size());
  }

  @Test
  void shouldAllocateNothingForAWriteThatIsJournalled() throws Exception {
    final PolicyMap policy = new PolicyMap(register(NodeMaps.policy(8)));
    start();
    read("policy_00008");
    final Runnable work =
        () -> {
          policy.upsert(2031, 0, TCP, 443, 64, 0, 0);
          policy.delete(2031, 0, TCP, 443, 64);
        };
    HeapAllocation.of(20_000, work);
    assertEquals(0, HeapAllocation.steady(2_000, work));
  }
}
