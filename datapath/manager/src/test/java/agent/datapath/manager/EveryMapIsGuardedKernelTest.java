package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapType;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.spec.TcMode;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.FlowUsageFlyweight;
import agent.testkit.KernelTest;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Another tool changes an entry of each map that the agent has pinned, whatever its name. It is
 * repaired, unless the map is one that the programs write, with the reason why nothing in it is
 * wrong. A map that programs use and that is not pinned is refused by the loader, beside the
 * sections of its object.
 */
@KernelTest
class EveryMapIsGuardedKernelTest {
  private static final int FOREIGN_BYTE = 0x21;
  private static final int PROG_ARRAY = 3; // linux/bpf.h

  /** Sections of objects: constants, which no process can write, and the time of the last tick. */
  private static final Set<String> OF_OBJECT = Set.of("rodata", "bss");

  private static final String MAPS = "agent/maps/";

  /** What only programs write, or what is counted anew by each sweep of the agent. */
  private static final Map<String, String> WRITTEN_BY_PROGRAMS =
      Map.ofEntries(
          Map.entry("conntrack4_tcp", "flows"),
          Map.entry("conntrack4_any", "flows"),
          Map.entry("conntrack6_tcp", "flows"),
          Map.entry("conntrack6_any", "flows"),
          Map.entry("conntrack4_overflow", "flows"),
          Map.entry("conntrack6_overflow", "flows"),
          Map.entry("endpoint_rates", "counts of a second"),
          Map.entry("namespace_rates", "counts of a second"),
          Map.entry("fragments4", "fragments"),
          Map.entry("fragments6", "fragments"),
          Map.entry("fragments4_overflow", "fragments"),
          Map.entry("fragments6_overflow", "fragments"),
          Map.entry("fragment_claims", "fragments"),
          Map.entry("fragment_numbers", "fragments"),
          Map.entry("number_rates", "counts of a second"),
          Map.entry("datagram_numbers", "counters"),
          Map.entry("early_fragments", "fragments"),
          Map.entry("early_owners", "fragments"),
          Map.entry("overflow_flows", "flows"),
          Map.entry("port_usage", "ports of flows"),
          Map.entry("redirect_rates", "counts of a second"),
          Map.entry("reject_rates", "counts of a second"),
          Map.entry("metrics", "counters"),
          Map.entry("balancer_flows", "flows"),
          Map.entry("service_affinities", "affinities of clients"),
          Map.entry("socket_metrics", "counters"),
          Map.entry("socket_peers", "flows of sockets"),
          Map.entry("events", "a ring"),
          Map.entry("events_lost", "counters"),
          Map.entry("judge_scratch", "memory of one packet"),
          Map.entry("verdict_cache", "memory of the programs"));

  private GuardedNode node;

  @BeforeEach
  void create() {
    node = new GuardedNode(TcMode.AUTO);
  }

  @AfterEach
  void remove() throws IOException {
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
    final Set<String> pinned = pinned();
    assertEquals(Set.of(), difference(declared(), pinned), "maps without a pin");
    assertTrue(pinned.contains("policy_%05d".formatted(GuardedNode.ENDPOINT)));
    assertEquals(
        Set.of(), difference(WRITTEN_BY_PROGRAMS.keySet(), pinned), "maps that there are no more");
    final List<Interference> changed = new ArrayList<>();
    difference(pinned, WRITTEN_BY_PROGRAMS.keySet())
        .forEach(name -> changed.add(change(opened(name))));
    GuardWatch.until(
        () -> changed.stream().allMatch(one -> one.isRepaired().getAsBoolean()),
        () ->
            "not repaired: "
                + changed.stream()
                    .filter(one -> !one.isRepaired().getAsBoolean())
                    .map(one -> one.map().name())
                    .toList());
    changed.forEach(Interference::close);
    node.watch().awaitRight();
  }

  private static Set<String> difference(Set<String> of, Set<String> without) {
    return of.stream().filter(name -> !without.contains(name)).collect(Collectors.toSet());
  }

  /** Returns the names of the maps that the file system has, without the version of the layout. */
  private Set<String> pinned() {
    return node.pins().stream()
        .filter(pin -> pin.startsWith(MAPS))
        .map(pin -> pin.substring(MAPS.length()).replaceFirst("_v\\d+$", ""))
        .collect(Collectors.toSet());
  }

  private static Set<String> declared() {
    return Stream.of(ProgramFile.values())
        .flatMap(file -> declaredBy(file).stream())
        .filter(name -> !OF_OBJECT.contains(name.substring(name.indexOf('.') + 1)))
        .collect(Collectors.toSet());
  }

  private static List<String> declaredBy(ProgramFile file) {
    final String path = "/bpf/" + file.stem() + ".bpf.o";
    try (InputStream in = EveryMapIsGuardedKernelTest.class.getResourceAsStream(path);
        BpfObject object = BpfObject.open(in.readAllBytes(), file.stem())) {
      return object.mapNames();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Opens a pinned map as another process does. */
  private BpfMap opened(String name) {
    final Path pin =
        node.bpfRoot()
            .resolve(MAPS + MapCatalog.named(name).map(MapProperties::pinName).orElse(name));
    final int fd = BpfFileSystem.open(pin);
    final MapDefinition definition =
        node.manager()
            .maps()
            .find(name)
            .map(BpfMap::definition)
            .orElseGet(() -> MapDefinition.of(MapDescription.of(fd).spec()).withName(name));
    return BpfMap.adopt(fd, definition, pin.toString());
  }

  private static Interference change(BpfMap map) {
    return switch (map.definition().spec().type()) {
      case MapType.ARRAY_OF_MAPS, PROG_ARRAY -> emptySlot(map);
      case MapType.ARRAY -> changeValue(map);
      default -> insert(map);
    };
  }

  private static Interference emptySlot(BpfMap map) {
    final EntryBuffer entry = new EntryBuffer(map);
    entry.key().putInt(0, map.name().equals("policies") ? GuardedNode.ENDPOINT : 1);
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
    final int offset = map.name().equals("flow_usage") ? FlowUsageFlyweight.CREDIT_OFFSET : 0;
    entry.value().putByte(offset, (byte) (entry.value().getByte(offset) ^ FOREIGN_BYTE));
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
