package agent.datapath.manager.load;

import agent.bindings.BindingsException;
import agent.bindings.BpfFileSystem;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.MapDescription;
import agent.bindings.MapType;
import agent.bindings.ObjectDescriptions;
import agent.datapath.manager.attach.Pins;
import agent.datapath.manager.spec.Context;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapRegistry;
import agent.maps.kernel.NodeMaps;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The pinned maps of this node: those that are there and have the wanted shape are taken over, the
 * others are made. Closing it closes descriptors; what is pinned stays.
 */
public final class NodeMapSet implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(NodeMapSet.class);

  private final Pins pins;
  private final MapRegistry registry;
  private final Map<String, BpfMap> maps = new LinkedHashMap<>();

  private NodeMapSet(Pins pins, MapRegistry registry) {
    this.pins = pins;
    this.registry = registry;
  }

  /**
   * Takes over or makes all maps that this node needs, in the sizes of the context.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public static NodeMapSet open(Context context, Pins pins, MapRegistry registry) {
    final NodeMapSet set = new NodeMapSet(pins, registry);
    try {
      for (final MapDefinition definition : NodeMaps.ALL) {
        if (context.prefilterDevice() != null || !definition.name().startsWith("prefilter")) {
          set.open(sized(context, definition));
        } else {
          BpfFileSystem.unpin(pins.map(definition.name())); // of an earlier start with a prefilter
        }
      }
      return set;
    } catch (RuntimeException failure) {
      set.close();
      throw failure;
    }
  }

  private static MapDefinition sized(Context context, MapDefinition definition) {
    return switch (definition.name()) {
      case "conntrack4_tcp" -> sized(definition, context.conntrackTcpMax(), context.enableIpv4());
      case "conntrack4_any" -> sized(definition, context.conntrackAnyMax(), context.enableIpv4());
      case "conntrack6_tcp" -> sized(definition, context.conntrackTcpMax(), context.enableIpv6());
      case "conntrack6_any" -> sized(definition, context.conntrackAnyMax(), context.enableIpv6());
      default -> definition;
    };
  }

  /** These tables take their memory at once: one of a family that is off is kept small. */
  private static MapDefinition sized(MapDefinition definition, int entries, boolean isOn) {
    return definition.withMaxEntries(isOn ? entries : Context.CONNTRACK_SMALLEST);
  }

  private void open(MapDefinition definition) {
    final Path pin = pins.map(definition.name());
    BpfMap map = openPinned(definition, pin);
    if (map == null) {
      map = create(definition, pin);
      if (definition.name().equals(NodeMaps.GENERATIONS.name())) {
        Generations.seed(map);
      }
    }
    maps.put(map.name(), map);
    registry.add(map);
  }

  /** A map that is open. */
  public BpfMap get(MapDefinition definition) {
    final BpfMap map = maps.get(definition.name());
    if (map == null) {
      throw new IllegalStateException("map " + definition.name() + " is not open");
    }
    return map;
  }

  /** The maps that programs share, by the name that the programs give them. */
  Map<String, BpfMap> byName() {
    return maps;
  }

  /**
   * The policy map of an endpoint, taken over or made; registered.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public BpfMap openPolicyMap(int endpointId) {
    final MapDefinition definition = NodeMaps.policy(endpointId);
    final Path pin = pins.policyMap(endpointId);
    final BpfMap pinned = openPinned(definition, pin);
    final BpfMap map = pinned == null ? create(definition, pin) : pinned;
    registry.add(map);
    return map;
  }

  /** Closes an endpoint's policy map, which stays pinned and in use. */
  public void releasePolicyMap(BpfMap map) {
    registry.remove(map);
    map.close();
  }

  /** Unpins and closes an endpoint's policy map. */
  public void removePolicyMap(BpfMap map) {
    registry.remove(map);
    final int result = BpfFileSystem.unpin(Path.of(map.pinPath()));
    map.close();
    if (result < 0 && result != -Errno.ENOENT) {
      throw new BindingsException("map " + map.name() + ": unpin " + map.pinPath(), result);
    }
  }

  @Override
  public void close() {
    for (final BpfMap map : maps.values()) {
      registry.remove(map);
      map.close();
    }
    maps.clear();
  }

  private static BpfMap openPinned(MapDefinition definition, Path pin) {
    final int fd = BpfFileSystem.open(pin);
    if (fd == -Errno.ENOENT) {
      return null;
    }
    if (fd < 0) {
      throw new BindingsException("map " + definition.name() + ": open " + pin, fd);
    }
    final MapDescription found = ObjectDescriptions.map(fd);
    if (definition.fits(found)) {
      return BpfMap.adopt(fd, definition, pin.toString());
    }
    Descriptors.close(fd);
    LOGGER.warn(
        "map {}: the pinned one is {}, wanted is {}: it is replaced, and what it held is lost",
        definition.name(),
        MapDefinition.shape(found),
        definition.shape());
    final int result = BpfFileSystem.unpin(pin);
    if (result < 0) {
      throw new BindingsException("map " + definition.name() + ": unpin " + pin, result);
    }
    return null;
  }

  private static BpfMap create(MapDefinition definition, Path pin) {
    final BpfMap map =
        definition.type() == MapType.ARRAY_OF_MAPS
            ? createOuter(definition, pin)
            : BpfMap.create(definition, pin.toString(), 0);
    final int result = BpfFileSystem.pin(map.fd(), pin);
    if (result < 0) {
      map.close();
      throw new BindingsException("map " + definition.name() + ": pin " + pin, result);
    }
    return map;
  }

  /** The kernel takes the shape of the inner maps from one that is gone afterwards. */
  private static BpfMap createOuter(MapDefinition definition, Path pin) {
    try (BpfMap shape = BpfMap.create(NodeMaps.POLICY, "", 0)) {
      return BpfMap.create(definition, pin.toString(), shape.fd());
    }
  }
}
