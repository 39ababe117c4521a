package agent.maps.mirror;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.PolicyMap;
import agent.maps.kernel.PrefixTrie;
import agent.maps.layout.PolicyFlag;
import agent.maps.mirror.MapVisitor.DesiredAction;
import agent.maps.mirror.MapVisitor.MapSummary;
import agent.maps.mirror.RefusedWrites.Write;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@KernelTest
@Timeout(60)
class MapMirrorsKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("endpoint", "prefilter");

  private static final int TCP = 6;

  private final MapRegistry registry = new MapRegistry();
  private final List<BpfMap> opened = new ArrayList<>();
  private final AtomicLong nowNs = new AtomicLong(1_000_000_000_000L);
  private final AtomicLong nowMs = new AtomicLong(1_000_000L);

  private final List<Write> writes = new ArrayList<>();

  /** What the owner of a map says of it. */
  private final RefusedWrites refused = map -> map.equals("policy_00004") ? writes : List.of();

  private MapMirrors mirrors;
  private boolean isStarted;

  @BeforeEach
  void makeMirrors() {
    mirrors = new MapMirrors(registry, refused, nowMs::get, nowNs::get);
  }

  /** From here on every read is made twice: from the kernel or the copy, and from the copy. */
  private void start() {
    isStarted = true;
  }

  private int apply() {
    try {
      return mirrors.agent().doWork();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs dp-mirror until it has nothing to do. */
  private void settle() throws Exception {
    while (mirrors.agent().doWork() > 0) {
      Thread.onSpinWait();
    }
  }

  @AfterEach
  void close() {
    mirrors.agent().onClose();
    opened.forEach(BpfMap::close);
  }

  private BpfMap register(MapDefinition definition) {
    final BpfMap map = BpfMap.create(definition, "/somewhere/" + definition.name());
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

  private Optional<MapSummary> summary(String name) {
    return mirrors.describe().stream().filter(map -> map.name().equals(name)).findFirst();
  }

  private Reader readOnce(String name) {
    final Reader reader = new Reader();
    assertTrue(mirrors.read(name, reader));
    return reader;
  }

  private Reader read(String name) throws Exception {
    final Reader first = readOnce(name);
    if (!isStarted) {
      return first;
    }
    settle();
    final Reader second = readOnce(name);
    assertEquals(first.lines, second.lines);
    return second;
  }

  @Test
  void shouldShowWhatTheAgentWroteBeforeAndAfterTheStoreOpens() throws Exception {
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(12)));
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
    assertEquals(1, summary("policy_00012").orElseThrow().entries());
  }

  @Test
  void shouldOpenTheStoreWhenAReaderFirstAsks() throws Exception {
    register(SHIPPED.policy(2));
    final MirrorAgent agent = (MirrorAgent) mirrors.agent();
    mirrors.describe();
    settle();
    assertNull(agent.store());
    assertEquals(Map.of(), readOnce("policy_00002").lines);
    assertNull(agent.store(), "a reader waits for nothing");
    settle();
    assertNotNull(agent.store());
  }

  @Test
  void shouldShowACurrentCopyWithoutTheKernel() throws Exception {
    final BpfMap map = register(SHIPPED.policy(1));
    new PolicyMap(map).upsert(5, 0, 0, 0, 40, 0, 0);
    start();
    assertEquals(1, read("policy_00001").lines.size());
    map.writeListener(agent.maps.kernel.MapWriteListener.NONE); // a write that is not noted
    new PolicyMap(map).upsert(6, 0, 0, 0, 40, 0, 0);
    assertEquals(Map.of("ingress identity 5", "allow"), read("policy_00001").lines);
  }

  @Test
  void shouldCopyAnewWhenTheRingOverflowed() throws Exception {
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(3)));
    start();
    assertEquals(0, read("policy_00003").lines.size());
    final int rounds = WriteRing.CAPACITY_BYTES / 32 / 5_000 + 2; // more than the ring holds
    for (int round = 1; round <= rounds; round++) {
      final int flags = round == rounds ? PolicyFlag.DENY.number() : 0;
      for (int identity = 1; identity <= 5_000; identity++) {
        assertEquals(0, policy.upsert(identity, 0, 0, 0, 40, flags, 0));
      }
    }
    final Reader reader = read("policy_00003");
    assertEquals(5_000, reader.lines.size());
    assertEquals(Set.of("deny"), Set.copyOf(reader.lines.values()), "not what the ring had before");
    assertEquals(5_000, summary("policy_00003").orElseThrow().entries());
    for (int identity = 1; identity <= 5_000; identity += 2) {
      assertEquals(0, policy.delete(identity, 0, 0, 0, 40));
    }
    assertEquals(2_500, read("policy_00003").lines.size());
    assertEquals(2_500, summary("policy_00003").orElseThrow().entries());
  }

  @Test
  void shouldKeepWritesThatAreMadeWhileTheCopyIsMade() throws Exception {
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(3)));
    for (int identity = 1; identity <= 10_000; identity++) {
      assertEquals(0, policy.upsert(identity, 0, 0, 0, 40, 0, 0));
    }
    assertEquals(10_000, readOnce("policy_00003").lines.size());
    final Map<String, String> wanted = readOnce("policy_00003").lines;
    int cycles = 0;
    while (mirrors.agent().doWork() > 0) {
      cycles++;
      for (int i = 0; i < 50; i++) {
        final int gone = cycles * 200 + i * 3;
        assertEquals(0, policy.delete(gone, 0, 0, 0, 40));
        wanted.remove("ingress identity " + gone);
      }
      for (int i = 0; i < 1_000; i++) {
        final int changed = 9_000 - (cycles * 37 + i * 4) % 4_000;
        final int flags = (cycles & 1) == 0 ? PolicyFlag.DENY.number() : 0;
        assertEquals(0, policy.upsert(changed, 0, 0, 0, 40, flags, 0));
        wanted.put("ingress identity " + changed, flags == 0 ? "allow" : "deny");
      }
      if (cycles == 20) {
        break;
      }
    }
    settle();
    policy.map().writeListener(agent.maps.kernel.MapWriteListener.NONE);
    policy.upsert(20_000, 0, 0, 0, 40, 0, 0); // the kernel's contents differ from here on
    final Reader reader = readOnce("policy_00003");
    assertEquals(wanted, reader.lines);
    assertEquals(wanted.size(), reader.summary.entries());
  }

  @Test
  void shouldFailWhereAWalkIsTruncated() {
    final PrefixTrie trie =
        new PrefixTrie(register(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(4_000)));
    for (int i = 0; i < 4_000; i++) {
      trie.stage(i << 8, 24);
    }
    assertEquals(0, trie.insertStaged());
    final MapVisitor churning =
        new MapVisitor() {
          @Override
          public void onMap(MapSummary map, long mirroredAtMs) {}

          @Override
          public boolean onEntry(
              CharSequence key, CharSequence value, DesiredAction action, String error) {
            final String[] parts = key.toString().split("[./]");
            final int address = Integer.parseInt(parts[1]) << 16 | Integer.parseInt(parts[2]) << 8;
            final int length = Integer.parseInt(parts[4]);
            trie.stage(address, length);
            trie.deleteStaged(); // the walk loses its place
            trie.stage(address, length == 24 ? 25 : 24);
            trie.insertStaged();
            return true;
          }
        };
    final BpfMapException truncated =
        assertThrows(BpfMapException.class, () -> mirrors.read("ipcache4", churning));
    assertEquals("map ipcache4: walk (all entries): EAGAIN", truncated.getMessage());
  }

  @Test
  void shouldListUsedSlotsOfAnArrayAlone() throws Exception {
    final EndpointMap endpoints = new EndpointMap(register(SHIPPED.get(MapCatalog.ENDPOINTS)));
    endpoints.edit(9).ifindex(7).identity(2031);
    endpoints.put();
    start();
    assertEquals(1, read("endpoints").lines.size());
    endpoints.edit(10).ifindex(8).identity(2031);
    endpoints.put();
    assertEquals(2, read("endpoints").lines.size());
    endpoints.clear(9);
    final Reader reader = read("endpoints");
    assertEquals(1, reader.lines.size());
    assertTrue(reader.lines.containsKey("endpoint 10"));
    assertEquals(1, reader.summary.entries());
  }

  @Test
  void shouldReadAMapThatProgramsWriteFromTheKernelEachTime() throws Exception {
    final BpfMap map = register(SHIPPED.get(MapCatalog.CONNTRACK4_TCP).withMaxEntries(1024));
    final Conntrack4Map flows = new Conntrack4Map(map);
    flows.foundKey().clear().lowAddress(0x0a010007).lowPort(43210).protocol(TCP);
    flows.foundKey().highAddress(0x0a010009).highPort(80);
    flows.found().clear().party(0, 3);
    assertEquals(0, flows.put());
    start();
    final Reader first = read("conntrack4_tcp");
    assertEquals(
        List.of("10.1.0.7:43210 -> 10.1.0.9:80 TCP out"), List.copyOf(first.lines.keySet()));
    assertEquals(nowMs.get(), first.mirroredAtMs);
    map.writeListener(agent.maps.kernel.MapWriteListener.NONE); // as where a program writes
    assertEquals(0, flows.deleteFound());
    nowMs.addAndGet(1);
    final Reader second = read("conntrack4_tcp");
    assertEquals(0, second.lines.size());
    assertEquals(nowMs.get(), second.mirroredAtMs);
    assertEquals(1, summary("conntrack4_tcp").orElseThrow().entries(), "not yet counted");
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(5));
    assertEquals(0, summary("conntrack4_tcp").orElseThrow().entries());
    assertNull(((MirrorAgent) mirrors.agent()).store(), "such a map has no mirror");
  }

  @Test
  void shouldCopyALargeAgentWrittenMapWhenItChanged() throws Exception {
    final PrefixTrie trie =
        new PrefixTrie(register(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(20_000)));
    start();
    assertEquals(0, read("ipcache4").lines.size());
    for (int i = 0; i < 10_000; i++) {
      if (trie.stage(i << 8, 24) || i == 9_999) {
        assertEquals(0, trie.insertStaged());
      }
    }
    final Reader reader = read("ipcache4");
    assertEquals(10_000, reader.lines.size());
    assertEquals("identity 1", reader.lines.get("0.0.1.0/24"));
    assertEquals(0.5, summary("ipcache4").orElseThrow().pressure());
    trie.stage(1 << 8, 24);
    assertEquals(0, trie.deleteStaged());
    assertFalse(read("ipcache4").lines.containsKey("0.0.1.0/24"));
  }

  @Test
  void shouldReadAMapThatHoldsTooMuchFromTheKernel() throws Exception {
    final BpfMap map = register(SHIPPED.get(MapCatalog.IPCACHE4));
    final PrefixTrie trie = new PrefixTrie(map);
    for (int i = 0; i <= MirrorAgent.LARGEST_COPY; i++) {
      if (trie.stage(i << 8, 24) || i == MirrorAgent.LARGEST_COPY) {
        assertEquals(0, trie.insertStaged());
      }
    }
    start();
    assertEquals(MirrorAgent.LARGEST_COPY + 1, read("ipcache4").lines.size());
    trie.stage(0, 24);
    assertEquals(0, trie.deleteStaged());
    assertEquals(MirrorAgent.LARGEST_COPY, read("ipcache4").lines.size());
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(60));
    assertEquals(MirrorAgent.LARGEST_COPY, read("ipcache4").lines.size());
    map.writeListener(agent.maps.kernel.MapWriteListener.NONE);
    trie.stage(1 << 8, 24);
    assertEquals(0, trie.deleteStaged());
    assertEquals(MirrorAgent.LARGEST_COPY, read("ipcache4").lines.size(), "now from the copy");
  }

  @Test
  void shouldShowRefusedWritesBesideWhatTheMapHolds() throws Exception {
    final BpfMap map = register(SHIPPED.policy(4).withMaxEntries(2));
    final PolicyMap policy = new PolicyMap(map);
    start();
    final List<Write> refusals = new ArrayList<>();
    for (int identity = 1; identity <= 3; identity++) {
      assertEquals(0, policy.upsert(identity, 0, 0, 0, 40, identity == 2 ? 1 : 0, 0));
      map.forEachEntry(entry -> refusals.add(write(map, entry)));
      assertEquals(0, policy.delete(identity, 0, 0, 0, 40));
    }
    assertEquals(0, policy.upsert(1, 0, 0, 0, 40, 0, 0));
    assertEquals(0, policy.upsert(3, 0, 0, 0, 40, 1, 0));
    assertTrue(policy.upsert(2, 0, 0, 0, 40, 1, 0) < 0);
    final Map<String, String> held =
        Map.of("ingress identity 1", "allow", "ingress identity 3", "deny");
    assertEquals(held, read("policy_00004").lines, "the map alone does not know what is desired");
    writes.add(new Write(refusals.get(0).key(), null, Errno.ENOMEM));
    writes.add(refusals.get(1));
    writes.add(refusals.get(2));
    assertEquals(
        Map.of(
            "ingress identity 1",
            "allow delete delete: ENOMEM",
            "ingress identity 2",
            "deny insert update: ENOSPC",
            "ingress identity 3",
            "allow insert update: ENOSPC"),
        read("policy_00004").lines);
    writes.clear();
    assertEquals(held, read("policy_00004").lines);
  }

  private static Write write(BpfMap map, MapCursor entry) {
    return new Write(
        bytes(entry.key(), map.keySize()), bytes(entry.value(), map.valueSize()), Errno.ENOSPC);
  }

  private static byte[] bytes(DirectBuffer buffer, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  @Test
  void shouldNameTheActionThatIsMissingAsTheApiDoes() {
    assertEquals("ok", DesiredAction.OK.text());
    assertEquals("insert", DesiredAction.INSERT.text());
    assertEquals("delete", DesiredAction.DELETE.text());
  }

  @Test
  void shouldBeSafeWhenAMapGoesAwayWhileItIsRead() throws Exception {
    final BpfMap map = register(SHIPPED.policy(5));
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
                    while (apply() > 0) {
                      Thread.onSpinWait();
                    }
                  }
                  return true;
                }
              });
      assertTrue(found);
      assertTrue(!last || seen[0] == 3_000, "saw " + seen[0]);
      settle();
    }
    assertFalse(mirrors.read("policy_00005", new Reader()));
    assertTrue(summary("policy_00005").isEmpty());
    assertFalse(map.retain());
    final PolicyMap again = new PolicyMap(register(SHIPPED.policy(5)));
    again.upsert(9, 0, 0, 0, 40, 0, 0);
    assertEquals(Map.of("ingress identity 9", "allow"), read("policy_00005").lines);
  }

  @Test
  void shouldStopReadingWhenTheVisitorHasEnough() throws Exception {
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(6)));
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
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(6)));
    start();
    assertEquals(Map.of(), read("policy_00006").lines);
    mirrors.agent().onClose();
    policy.upsert(1, 0, 0, 0, 40, 0, 0);
    assertEquals(Map.of("ingress identity 1", "allow"), read("policy_00006").lines);
  }

  @Test
  void shouldDescribeEveryMap() throws Exception {
    register(SHIPPED.get(MapCatalog.EVENTS));
    register(SHIPPED.get(MapCatalog.GENERATIONS));
    register(SHIPPED.policy(1));
    assertEquals(
        List.of("events", "generations", "policy_00001"),
        mirrors.describe().stream().map(MapSummary::name).toList());
    assertEquals("ringbuf", mirrors.describe().getFirst().type());
    assertEquals(0, read("events").lines.size());
  }

  @Test
  void shouldAllocateNothingForAWriteThatIsNotedAndApplied() throws Exception {
    final PolicyMap policy = new PolicyMap(register(SHIPPED.policy(8)));
    start();
    read("policy_00008");
    final Runnable work =
        () -> {
          policy.upsert(2031, 0, TCP, 443, 64, 0, 0);
          policy.delete(2031, 0, TCP, 443, 64);
          apply();
        };
    HeapAllocation.of(20_000, work);
    assertEquals(0, HeapAllocation.steady(2_000, work));
  }
}
