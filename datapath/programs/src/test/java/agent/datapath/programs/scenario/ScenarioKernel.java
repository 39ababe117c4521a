package agent.datapath.programs.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.MappedMemory;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapType;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.RingBufferReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The maps of a scenario's node, and the programs that are loaded with them. The verifier takes
 * most of the time of a scenario, so that a node which is closed leaves both to the next one of the
 * process, with the maps as they were created. A program is what its object and its constants are:
 * another of either is loaded beside it.
 */
final class ScenarioKernel {
  private static final int ENDPOINTS = 512;
  private static final int FLOWS = 4096;

  /** Programs of so many objects and constants stay loaded with the maps. */
  private static final int OBJECTS = 8;

  private static final Deque<ScenarioKernel> FREE = new ArrayDeque<>();

  private final Map<String, BpfMap> maps = new HashMap<>();
  private final Map<ScenarioObject.Content, BpfObject> loaded =
      new LinkedHashMap<>(OBJECTS, 1, true);
  private final List<BpfObject> ofThisNode = new ArrayList<>();
  private boolean isOfThisNode;

  private ScenarioKernel() {
    for (final MapDefinition definition : ScenarioNode.SHIPPED.all()) {
      maps.put(definition.name(), create(definition));
    }
  }

  /** Returns one with the maps as they are created. */
  static ScenarioKernel take() {
    synchronized (FREE) {
      return FREE.isEmpty() ? new ScenarioKernel() : FREE.pop();
    }
  }

  Map<String, BpfMap> maps() {
    return maps;
  }

  /** Puts a map in the place of the one of its name, of a kernel that no other node gets. */
  void replace(BpfMap map) {
    isOfThisNode = true;
    loaded.values().forEach(BpfObject::close); // with the other map
    loaded.clear();
    maps.put(map.name(), map).close();
  }

  /** Returns the programs of an object with its constants; this closes them. */
  BpfObject load(ScenarioObject configured) {
    final BpfObject object = configured.object();
    final ScenarioObject.Content content = configured.content();
    final BpfObject present = loaded.get(content);
    if (present != null) {
      object.close();
      return present;
    }
    ofThisNode.add(object); // also where the verifier refuses it
    for (final String name : configured.mapNames()) {
      if (maps.containsKey(name)) {
        object.reuseMap(name, maps.get(name).fd());
      }
    }
    object.load();
    if (maps.keySet().containsAll(configured.mapNames())) {
      ofThisNode.remove(object); // others have maps of their own, which keep their entries
      loaded.put(content, object);
    }
    return object;
  }

  /** Leaves the maps, emptied, and the programs to another node. */
  void giveBack() {
    ofThisNode.forEach(BpfObject::close);
    ofThisNode.clear();
    if (isOfThisNode) {
      loaded.values().forEach(BpfObject::close);
      maps.values().forEach(BpfMap::close);
      return;
    }
    final Iterator<BpfObject> oldest = loaded.values().iterator();
    while (loaded.size() > OBJECTS) {
      oldest.next().close();
      oldest.remove();
    }
    maps.values().forEach(ScenarioKernel::clear);
    synchronized (FREE) {
      FREE.push(this);
    }
  }

  private static BpfMap create(MapDefinition definition) {
    final int entries =
        switch (definition.name()) {
          case "endpoints", "policies", "flow_usage", "endpoint_rates", "port_usage" -> ENDPOINTS;
          case "generations",
              "metrics",
              "events",
              "events_lost",
              "event_gate",
              "namespace_rates",
              "reject_rates",
              "interfaces",
              "socket_metrics",
              "redirect_proxies",
              "service_gate",
              "overflow_flows" ->
              definition.spec().maxEntries();
          case "fragments4", "fragments6", "fragments4_overflow", "fragments6_overflow" ->
              definition.spec().maxEntries();
          default -> Math.min(FLOWS, definition.spec().maxEntries());
        };
    return BpfMap.create(definition.withMaxEntries(entries), "");
  }

  private static void clear(BpfMap map) {
    final int type = map.definition().spec().type();
    final boolean isMapped = (map.definition().spec().flags() & MapFlag.MMAPABLE) != 0;
    if (map.name().equals("events")) {
      try (RingBufferReader reader = new RingBufferReader(map)) {
        reader.poll((buffer, offset, length) -> {}, Integer.MAX_VALUE);
      }
    } else if (type == MapType.ARRAY && isMapped) {
      final long bytes = (long) map.maxEntries() * (map.valueSize() + 7 & ~7);
      try (MappedMemory memory = MappedMemory.map(map.fd(), 0, bytes, true)) {
        memory.segment().fill((byte) 0);
      }
    } else if (type == MapType.ARRAY || type == MapType.PERCPU_ARRAY) {
      zero(map);
    } else if (type != MapType.SK_STORAGE) { // whose entries go with their sockets
      deleteAll(map);
    }
  }

  private static void zero(BpfMap map) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment key = arena.allocate(map.keySize(), 8);
      final MemorySegment value = arena.allocate(map.copiedValueSize(), 8);
      for (int i = 0; i < map.maxEntries(); i++) {
        key.set(ValueLayout.JAVA_INT, 0, i);
        assertEquals(0, MapCalls.update(map.fd(), key, value, 0), map.name());
      }
    }
  }

  private static void deleteAll(BpfMap map) {
    try (Arena arena = Arena.ofConfined()) {
      final boolean isArray = map.definition().spec().type() == MapType.ARRAY_OF_MAPS;
      final MemorySegment key = arena.allocate(map.keySize(), 8);
      final MemorySegment after = arena.allocate(map.keySize(), 8);
      final MemorySegment present = arena.allocate(Math.max(map.copiedValueSize(), 8), 8);
      MemorySegment from = MemorySegment.NULL;
      while (MapCalls.nextKey(map.fd(), from, key) == 0) {
        // All slots of an array are keys. Linux 6.1 waits for a grace period in each deletion from
        // an array of maps, that of an empty slot, too.
        if (!isArray || MapCalls.lookup(map.fd(), key, present) == 0) {
          assertEquals(0, MapCalls.delete(map.fd(), key), map.name());
        }
        if (isArray) {
          from = after.copyFrom(key);
        }
      }
    }
  }
}
