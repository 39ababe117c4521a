package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.datapath.programs.load.Shards;
import agent.datapath.spec.PolicyEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinition;
import agent.maps.layout.ConntrackDelivery;
import agent.maps.layout.ConntrackEntries;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.GenerationLayout;
import agent.maps.layout.PolicyDirection;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.Workload;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.agrona.ExpandableArrayBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Flows of a previous run in tables of another size or of the layout of releases up to 0.3.0. */
@KernelTest
class CarryOverKernelTest {
  private static final int LAYOUT1_LENGTH = 96;
  private static final int LRU_ENTRIES = 1024;
  private static final int GENERATIONS = 65_536;
  private static final long DEADLINE_NS = Duration.ofSeconds(30).toNanos();
  private static final IpAddress OUTSIDE = IpAddress.parse("198.51.100.7");

  private final ManagerTestNode node = new ManagerTestNode();
  private final List<BpfMap> old = new ArrayList<>();

  @AfterEach
  void close() throws IOException {
    old.forEach(BpfMap::close);
    node.close();
  }

  @Test
  void shouldKeepAnIdleConnectionWhenTheSizeOfTheTableChanges() throws Exception {
    final Workload client = node.workload(61);
    final Workload server = node.workload(62);
    try (TcpEchoServer tcp = TcpEchoServer.start(server.namespace(), 8080)) {
      final TcpConnection connection;
      try (DatapathManager first = node.launch(node.context())) {
        attach(first, client, server);
        connection = TcpConnection.open(client.namespace(), server.ipv4(), 8080);
        assertTrue(connection.exchangesMore(20, 5000));
      }
      try (connection;
          DatapathManager second = node.launch(node.context().conntrackTcpMax(16_384))) {
        final BpfMap table = second.maps().find("conntrack4_tcp").orElseThrow();
        assertEquals(16_384, table.description().maxEntries());
        final Map<String, String> flows = flows(table);
        assertEquals(1, flows.size(), flows::toString);
        assertTrue(isPinned("conntrack4_tcp_v2_resized"));
        attach(second, client, server);
        second.endpointsRestored();
        awaitUnpinned("conntrack4_tcp_v2_resized");
        assertTrue(connection.exchangesMore(20, 5000));
        assertEquals(flows.keySet(), flows(table).keySet());
        assertFalse(flows(table).toString().contains("direction unknown"), flows::toString);
        assertEquals(1, tcp.connections());
      }
    }
  }

  private void attach(DatapathManager manager, Workload client, Workload server) {
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(261, client, 2061), ManagerTestNode.allowAll());
    ManagerTestNode.attach(
        manager,
        ManagerTestNode.spec(262, server, 2062),
        ManagerTestNode.ingressOnly(PolicyEntry.allow(2061, PolicyDirection.INGRESS, 6, 8080)));
  }

  @Test
  void shouldConvertTheEntriesOfTheFormerLayout() throws Exception {
    pinFormerTables();
    final BpfMap tcp = old.get(0);
    final BpfMap any = old.get(1);
    setGeneration(7, 3 << 24 | 12);
    setGeneration(8, 5 << 24 | 9);
    put(tcp, key("10.77.0.7", 40000, "10.77.0.8", 80, 6), value(7, 3 << 24 | 12, 8, 5 << 24, 67));
    put(tcp, key("10.77.0.7", 40001, "198.51.100.7", 443, 6), value(7, 3 << 24, 0, 77, 3));
    put(tcp, key("10.77.0.7", 40002, "10.77.0.8", 80, 6), value(7, 2 << 24 | 12, 8, 5 << 24, 67));
    put(tcp, key("10.77.0.7", 40003, "10.77.0.8", 80, 6), expired());
    put(any, key("10.77.0.7", 9, "10.77.0.8", 9, 1), value(7, 3 << 24, 8, 5 << 24, 3));
    try (DatapathManager manager = node.launch(node.context())) {
      final BpfMap table = manager.maps().find("conntrack4_tcp").orElseThrow();
      final Map<String, String> flows = flows(table);
      assertEquals(
          Set.of(
              "10.77.0.7:40000 -> 10.77.0.8:80 TCP local",
              "198.51.100.7:443 -> 10.77.0.7:40001 TCP in"),
          flows.keySet());
      assertTrue(
          flows.toString().contains("identities 2007 -> 2008, endpoints 7 -> 8"), flows::toString);
      assertTrue(flows.toString().contains("packets 11/12, bytes 1100/1200"), flows::toString);
      assertEntry(manager, table);
      assertEquals(
          Set.of("10.77.0.8 -> 10.77.0.7 ICMP id 9 local"),
          flows(manager.maps().find("conntrack4_any").orElseThrow()).keySet());
      put(tcp, key("10.77.0.7", 40009, "10.77.0.8", 80, 6), value(7, 3 << 24, 8, 5 << 24, 67));
      put(tcp, key("10.77.0.7", 40000, "10.77.0.8", 80, 6), value(7, 3 << 24, 8, 5 << 24, 32));
      manager.endpointsRestored();
      awaitUnpinned("conntrack4_tcp");
      awaitUnpinned("generations");
      final Map<String, String> later = flows(table);
      assertEquals(3, later.size(), later::toString);
      assertFalse(later.toString().contains("denied"), "what is there already is not replaced");
    }
  }

  /** The entry is stale under the present generations, by its changes and not by its owners. */
  private static void assertEntry(DatapathManager manager, BpfMap table) throws Exception {
    final BpfMap map = manager.maps().find("generations").orElseThrow();
    final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight();
    try (GenerationArray generations = new GenerationArray(map);
        MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(table));
      while (cursor.next()) {
        entry.wrap(copy(cursor), 0);
        final boolean isLocal = ConntrackEntries.endpointId(entry, 1) == 8;
        final int shard = GenerationLayout.OUTSIDE + Shards.of(OUTSIDE);
        final long now = generations.get(7) + generations.get(isLocal ? 8 : shard);
        assertEquals(now >>> 32, entry.generation() >>> 32, "owners");
        assertFalse(now == entry.generation(), "policy decides again");
        assertEquals(isLocal ? 8 : Shards.of(OUTSIDE), entry.party(1));
        assertEquals(
            isLocal ? ConntrackDelivery.TO_PEER.number() : ConntrackDelivery.BY_KERNEL.number(),
            entry.deliveryKind(1));
        assertEquals(
            isLocal ? 0 : ConntrackFlag.OUTSIDE_HIGH.number(),
            entry.flags() & ConntrackFlag.OUTSIDE_HIGH.number());
      }
    }
  }

  private static ExpandableArrayBuffer copy(MapCursor cursor) {
    final ExpandableArrayBuffer copy = new ExpandableArrayBuffer(ConntrackEntryFlyweight.LENGTH);
    copy.putBytes(0, cursor.value(), 0, ConntrackEntryFlyweight.LENGTH);
    return copy;
  }

  private void pinFormerTables() throws IOException {
    node.launch(node.context()).close();
    for (final String name : List.of("conntrack4_tcp", "conntrack4_any")) {
      Files.deleteIfExists(pin(name + "_v2"));
      final MapSpec spec = MapSpec.of(MapType.LRU_HASH, name, 16, LAYOUT1_LENGTH, LRU_ENTRIES, 0);
      old.add(BpfMap.create(MapDefinition.of(spec), ""));
      assertEquals(0, BpfFileSystem.pin(old.getLast().fd(), pin(name)));
    }
    final MapSpec spec =
        MapSpec.of(MapType.ARRAY, "generations", 4, 4, GENERATIONS, MapFlag.MMAPABLE);
    old.add(BpfMap.create(MapDefinition.of(spec), ""));
    assertEquals(0, BpfFileSystem.pin(old.getLast().fd(), pin("generations")));
  }

  private void setGeneration(int id, int generation) {
    final EntryBuffer entry = new EntryBuffer(old.getLast());
    entry.key().putInt(0, id);
    entry.value().putInt(0, generation);
    assertEquals(0, old.getLast().update(entry, MapFlag.ANY));
  }

  private static void put(BpfMap map, byte[] key, byte[] value) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putBytes(0, key);
    entry.value().putBytes(0, value);
    assertEquals(0, map.update(entry, MapFlag.ANY));
  }

  /** The key has the sides in this order, as of a flow whose first side is the low one. */
  private static byte[] key(String low, int lowPort, String high, int highPort, int protocol) {
    return ByteBuffer.allocate(16)
        .putInt((int) IpAddress.parse(low).low())
        .putInt((int) IpAddress.parse(high).low())
        .putShort((short) lowPort)
        .putShort((short) highPort)
        .put((byte) protocol)
        .array();
  }

  private static byte[] value(int lowId, int lowGeneration, int highId, int generation, int flags) {
    final ExpandableArrayBuffer value = new ExpandableArrayBuffer(LAYOUT1_LENGTH);
    value.putLong(0, System.nanoTime() + Duration.ofHours(1).toNanos());
    value.putInt(8, lowGeneration);
    value.putInt(12, generation);
    value.putShort(16, (short) lowId);
    value.putShort(18, (short) highId);
    value.putShort(20, (short) (highId == 0 || flags == 3 ? flags | 1 : flags & ~1));
    value.putInt(56, 2000 + lowId);
    value.putInt(60, 2000 + highId);
    value.putLong(64, 11);
    value.putLong(72, 12);
    value.putLong(80, 1100);
    value.putLong(88, 1200);
    final byte[] bytes = new byte[LAYOUT1_LENGTH];
    value.getBytes(0, bytes);
    return bytes;
  }

  private static byte[] expired() {
    final byte[] bytes = value(7, 3 << 24, 8, 5 << 24, 67);
    ByteBuffer.wrap(bytes).putLong(0);
    return bytes;
  }

  private static Map<String, String> flows(BpfMap map) {
    final Map<String, String> flows = new HashMap<>();
    final ExpandableArrayBuffer key = new ExpandableArrayBuffer(map.keySize());
    try (MapCursor cursor = new MapCursor()) {
      assertEquals(0, cursor.open(map));
      while (cursor.next()) {
        key.putBytes(0, cursor.key(), 0, map.keySize());
        final StringBuilder flow = new StringBuilder();
        final StringBuilder state = new StringBuilder();
        map.format().appendKey(flow, key, 0, copy(cursor), 0);
        map.format().appendValue(state, key, 0, copy(cursor), 0);
        flows.put(flow.toString(), state.toString());
      }
    }
    return flows;
  }

  private Path pin(String name) {
    return node.bpfRoot().resolve("agent/maps").resolve(name);
  }

  private boolean isPinned(String name) {
    return Files.exists(pin(name));
  }

  private void awaitUnpinned(String name) throws InterruptedException {
    final long endNs = System.nanoTime() + DEADLINE_NS;
    while (isPinned(name)) {
      assertTrue(System.nanoTime() < endNs, name + " is still pinned");
      Thread.sleep(5);
    }
  }
}
