package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.BpfFileSystem;
import agent.bindings.MapFlag;
import agent.bindings.MapType;
import agent.datapath.manager.compile.ProgramFile;
import agent.datapath.manager.spec.Balancing;
import agent.datapath.manager.spec.Masquerading;
import agent.datapath.manager.spec.Prefilter.PrefilterMode;
import agent.datapath.manager.spec.SocketPorts;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.NodeMap;
import agent.maps.kernel.NodeMaps;
import agent.maps.kernel.ShippedMaps;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Another tool changes an entry of each map that an object of the agent declares. It is repaired,
 * unless the map is one that the programs write, with the reason why nothing in it is wrong.
 */
@KernelTest
class EveryMapIsGuardedKernelTest {
  private static final String DEVICE = "dev0";
  private static final int ENDPOINT = 931;
  private static final int IDENTITY = 9301;
  private static final int FOREIGN_BYTE = 0x21;

  /** What only programs write, or what is counted anew by each sweep of the agent. */
  private static final Map<String, String> WRITTEN_BY_PROGRAMS =
      Map.ofEntries(
          Map.entry("conntrack4_tcp", "flows"),
          Map.entry("conntrack4_any", "flows"),
          Map.entry("conntrack6_tcp", "flows"),
          Map.entry("conntrack6_any", "flows"),
          Map.entry("conntrack4_overflow", "flows"),
          Map.entry("conntrack6_overflow", "flows"),
          Map.entry("flow_usage", "counts of flows, which each sweep counts anew"),
          Map.entry("watched_addresses", "counts of one round of sweeps"),
          Map.entry("endpoint_rates", "counts of a second"),
          Map.entry("namespace_rates", "counts of a second"),
          Map.entry("fragments4", "fragments"),
          Map.entry("fragments6", "fragments"),
          Map.entry("fragments4_overflow", "fragments"),
          Map.entry("fragments6_overflow", "fragments"),
          Map.entry("fragment_claims", "fragments"),
          Map.entry("fragment_numbers", "fragments"),
          Map.entry("overflow_flows", "flows"),
          Map.entry("port_usage", "ports of flows"),
          Map.entry("redirect_rates", "counts of a second"),
          Map.entry("reject_rates", "counts of a second"),
          Map.entry("metrics", "counters"),
          Map.entry("balancer_flows", "flows"),
          Map.entry("service_affinities", "affinities of clients"),
          Map.entry("socket_metrics", "counters"),
          Map.entry("events", "a ring"),
          Map.entry("events_lost", "counters"),
          Map.entry("judge_scratch", "memory of one packet"),
          Map.entry("verdict_cache", "memory of the programs"));

  private ManagerTestNode node;
  private NetworkNamespace outside;
  private TestControlGroup group;
  private DatapathManager manager;
  private GuardWatch watch;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    outside = NetworkNamespace.create("out");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    group = TestControlGroup.create();
    final AddressPair sources =
        new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));
    final Prefix range = Prefix.parse("64:ff9b::/96");
    manager =
        node.launch(
            node.context()
                .cgroupRoot(group.path())
                .prefilterDevice(DEVICE)
                .prefilterMode(PrefilterMode.GENERIC)
                .balancing(new Balancing(DEVICE, sources))
                .masquerading(new Masquerading(Map.of(), null, null, SocketPorts.NONE, range)));
    watch = new GuardWatch(manager);
    final Workload workload = node.workload(94);
    await(manager.ipcache().read());
    await(manager.services().restore(List.of(), Set.of()));
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(ENDPOINT, workload, IDENTITY), ManagerTestNode.allowAll());
    manager
        .prefilter()
        .add(
            OptionalLong.empty(),
            List.of(Prefix.parse("198.51.100.0/27"), Prefix.parse("2001:db8:7::/64")));
    watch.awaitRight();
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    group.close();
    outside.close();
    node.close();
  }

  /** What is changed in one map, and whether it is repaired. */
  private record Interference(BpfMap map, BooleanSupplier isRepaired) implements AutoCloseable {
    @Override
    public void close() {
      map.close();
    }
  }

  @Test
  void shouldRepairAnEntryOfEachMapThatProgramsDoNotWrite() {
    final Set<String> declared = declared();
    assertEquals(
        NodeMaps.ALL.stream().map(NodeMap::name).collect(Collectors.toCollection(TreeSet::new)),
        declared);
    declared.removeAll(WRITTEN_BY_PROGRAMS.keySet());
    assertEquals(NodeMaps.ALL.size() - WRITTEN_BY_PROGRAMS.size(), declared.size());
    declared.add("policy_%05d".formatted(ENDPOINT));
    final List<Interference> changed = new ArrayList<>();
    declared.forEach(name -> changed.add(change(opened(name))));
    GuardWatch.until(
        () -> changed.stream().allMatch(one -> one.isRepaired().getAsBoolean()),
        () ->
            "not repaired: "
                + changed.stream()
                    .filter(one -> !one.isRepaired().getAsBoolean())
                    .map(one -> one.map().name())
                    .toList());
    changed.forEach(Interference::close);
    watch.awaitRight();
  }

  private static Set<String> declared() {
    final String[] objects =
        Stream.of(ProgramFile.values()).map(ProgramFile::stem).toArray(String[]::new);
    return ShippedMaps.of(objects).all().stream()
        .map(MapDefinition::name)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Opens a pinned map as another process does. */
  private BpfMap opened(String name) {
    final BpfMap own = manager.maps().find(name).orElseThrow(() -> new AssertionError(name));
    return BpfMap.adopt(
        BpfFileSystem.open(Path.of(own.pinPath())), own.definition(), own.pinPath());
  }

  private static Interference change(BpfMap map) {
    return switch (map.definition().spec().type()) {
      case MapType.ARRAY_OF_MAPS -> emptySlot(map);
      case MapType.ARRAY -> changeValue(map);
      default -> insert(map);
    };
  }

  private static Interference emptySlot(BpfMap map) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, map.name().equals("policies") ? ENDPOINT : 1);
    assertEquals(0, map.lookup(entry), map::name);
    final int before = entry.value().getInt(0);
    assertEquals(0, map.delete(entry), map::name);
    return new Interference(map, () -> map.lookup(entry) == 0 && entry.value().getInt(0) == before);
  }

  /** A generation gets another value again, all others the former one. */
  private static Interference changeValue(BpfMap map) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, Math.min(1, map.maxEntries() - 1));
    assertEquals(0, map.lookup(entry), map::name);
    final byte[] before = bytes(entry.value(), map.valueSize());
    entry.value().putByte(0, (byte) (entry.value().getByte(0) ^ FOREIGN_BYTE));
    final byte[] foreign = bytes(entry.value(), map.valueSize());
    assertEquals(0, map.update(entry, MapFlag.ANY), map::name);
    final boolean isRaised = map.name().equals("generations");
    return new Interference(
        map,
        () -> {
          map.lookup(entry);
          final byte[] found = bytes(entry.value(), map.valueSize());
          return isRaised ? !Arrays.equals(foreign, found) : Arrays.equals(before, found);
        });
  }

  private static byte[] bytes(UnsafeBuffer buffer, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  private static Interference insert(BpfMap map) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().setMemory(0, map.keySize(), (byte) FOREIGN_BYTE);
    entry.value().setMemory(0, map.valueSize(), (byte) FOREIGN_BYTE);
    if (map.definition().spec().type() == MapType.LPM_TRIE) {
      entry.key().putInt(0, Byte.SIZE * (map.keySize() - Integer.BYTES));
    }
    assertEquals(0, map.update(entry, MapFlag.NO_EXIST), map::name);
    return new Interference(map, () -> map.lookup(entry) < 0);
  }
}
