package agent.datapath.programs.load;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.DatapathOptions;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.kernel.MapRegistry;
import agent.maps.layout.PrefilterTable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The pinned maps of this node, as the shipped objects declare them. A pinned map of the declared
 * type and size is taken over; the others are created. Closing this object closes descriptors and
 * keeps the pins.
 */
public final class OpenMaps implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(OpenMaps.class);

  private final Pins pins;
  private final MapRegistry registry;
  private final MapDefinitions shipped;
  private final MapPins guard;
  private final int policyMapMax;
  private final Map<String, BpfMap> maps = new LinkedHashMap<>();
  private final ConntrackCarryOver carryOver;
  private final boolean translates;

  private OpenMaps(
      DatapathContext context,
      Pins pins,
      MapRegistry registry,
      MapPins guard,
      MapDefinitions shipped) {
    this.pins = pins;
    policyMapMax = context.policyMapMax();
    translates = context.masquerading().nat46Range() != null;
    this.registry = registry;
    this.guard = guard;
    this.shipped = shipped;
    carryOver =
        new ConntrackCarryOver(
            pins.map(MapCatalog.GENERATIONS.name()), guard.faults(), BpfFileSystem::open);
  }

  /**
   * Adopts or creates all maps of this node, with the sizes of the context.
   *
   * @param guard compares the pins of the maps
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public static OpenMaps open(
      DatapathContext context, Pins pins, MapRegistry registry, MapPins guard) {
    final OpenMaps set =
        new OpenMaps(context, pins, registry, guard, MapDefinitions.of(objects(context)));
    try {
      if (!context.enableServices()) {
        unpin(pins, MapCatalog.SOCKET); // those that the programs of endpoints get are empty then
        BpfFileSystem.unpin(pins.map(ProgramLoader.SOCKET_PEERS));
      }
      if (!set.translates) {
        BpfFileSystem.unpin(pins.map(ProgramLoader.NAT46_PROGRAMS));
      }
      for (final MapDefinition definition : set.shipped.all()) {
        set.open(sized(context, definition));
      }
      if (context.prefilterDevice() == null) {
        unpin(pins, MapCatalog.PREFILTER);
        MapCatalog.PREFILTER_BEFORE.forEach(previous -> BpfFileSystem.unpin(pins.map(previous)));
      }
      if (!context.balancing().isOn()) {
        unpin(pins, List.of(MapCatalog.BALANCER_FLOWS));
      }
      set.carryOver.copyToFresh(set.get(MapCatalog.GENERATIONS));
      return set;
    } catch (RuntimeException failure) {
      set.close();
      throw failure;
    }
  }

  /** Returns the objects that declare the maps of this node. */
  private static String[] objects(DatapathContext context) {
    final List<String> objects = new ArrayList<>();
    objects.add(ProgramFile.ENDPOINT.stem());
    objects.add(ProgramFile.CONNTRACK_GC.stem());
    if (context.prefilterDevice() != null) {
      objects.add(ProgramFile.PREFILTER.stem());
    }
    if (context.enableServices()) {
      objects.add(ProgramFile.SOCKET.stem());
    }
    if (context.balancing().isOn()) {
      objects.add(ProgramFile.BALANCER.stem());
    }
    return objects.toArray(String[]::new);
  }

  /** Unpins maps that a previous run of the agent may have created. */
  private static void unpin(Pins pins, List<MapProperties> maps) {
    for (final MapProperties map : maps) {
      BpfFileSystem.unpin(pins.map(map.name()));
    }
  }

  private static MapDefinition sized(DatapathContext context, MapDefinition definition) {
    return switch (definition.name()) {
      case "conntrack4_tcp" -> sized(definition, context.conntrackTcpMax(), context.enableIpv4());
      case "conntrack4_any" -> sized(definition, context.conntrackAnyMax(), context.enableIpv4());
      case "conntrack6_tcp" -> sized(definition, context.conntrackTcpMax(), context.enableIpv6());
      case "conntrack6_any" -> sized(definition, context.conntrackAnyMax(), context.enableIpv6());
      case "conntrack4_overflow" -> overflow(definition, context.enableIpv4());
      case "conntrack6_overflow" -> overflow(definition, context.enableIpv6());
      case "service_tables", "service_cells", "service_ends" -> definition.preallocated(false);
      default -> definition.preallocated(context.preallocates());
    };
  }

  private static MapDefinition overflow(MapDefinition definition, boolean isEnabled) {
    return sized(definition, definition.spec().maxEntries(), isEnabled);
  }

  /**
   * Sizes a conntrack table. LRU hash maps are preallocated, so that the table of a disabled
   * address family has the smallest size.
   */
  private static MapDefinition sized(MapDefinition definition, int entries, boolean isEnabled) {
    return definition.withMaxEntries(
        isEnabled ? entries : DatapathOptions.CONNTRACK_TCP_MAX.lowest());
  }

  private void open(MapDefinition definition) {
    final Path pin = pins.map(MapCatalog.named(definition.name()).orElseThrow().pinName());
    final BpfMap pinned = openPinned(definition, pin);
    final boolean isFresh = pinned == null;
    final BpfMap map = isFresh ? create(definition, pin) : pinned;
    if (isFresh) {
      if (definition.name().equals(MapCatalog.GENERATIONS.name())) {
        Generations.seed(map);
      }
    }
    if (isConntrack(definition)) {
      carryOver.add(pins.map(definition.name()), map, isFresh);
      carryOver.add(ConntrackCarryOver.resizedPin(pin), map, isFresh);
    }
    maps.put(map.name(), map);
    registry.add(map);
    guard.add(map);
  }

  private static boolean isConntrack(MapDefinition definition) {
    return definition.name().startsWith("conntrack");
  }

  /** Returns the work that carries flows over which programs of the previous run still record. */
  public ConntrackCarryOver carryOver() {
    return carryOver;
  }

  /**
   * Returns an open map.
   *
   * @throws IllegalStateException where the node does not have the map
   */
  public BpfMap get(MapProperties map) {
    final BpfMap open = maps.get(map.name());
    if (open == null) {
      throw new IllegalStateException("map " + map.name() + " is not open");
    }
    return open;
  }

  /** Returns the maps by the names under which the objects declare them. */
  Map<String, BpfMap> byName() {
    return maps;
  }

  /** Returns whether programs translate between the families, and call each other for that. */
  boolean translates() {
    return translates;
  }

  /** Returns the path at which a map of this name is or would be pinned. */
  public Path pin(String name) {
    return pins.map(name);
  }

  /**
   * Creates a table of the prefilter, which has no pin: its slot in the array of tables keeps it.
   */
  public BpfMap createPrefilterTable(PrefilterTable table, int slots) {
    return BpfMap.create(shipped.prefilterTable(table, slots), "");
  }

  /**
   * Opens a table of a previous run by the kernel's id.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public BpfMap openPrefilterTable(PrefilterTable table, int id) {
    return BpfMap.openById(id, shipped.prefilterTable(table, 1));
  }

  /** Shows one map in the place of another in the registry; either may be null. */
  public void exchange(BpfMap before, BpfMap by) {
    if (before != null) {
      registry.remove(before);
    }
    if (by != null) {
      registry.add(by);
    }
  }

  /**
   * Adopts or creates a policy map, and registers it. A pinned map that is smaller than the present
   * capacity is replaced by one with the same entries; a larger one stays.
   *
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public BpfMap openPolicyMap(int number) {
    final MapDefinition definition = shipped.policy(number).withMaxEntries(policyMapMax);
    final Path pin = pins.policyMap(number);
    final BpfMap resized = ResizedMap.open(definition, pin);
    final BpfMap pinned = resized == null ? openPinned(definition, pin) : resized;
    final BpfMap map = pinned == null ? create(definition, pin) : pinned;
    registry.add(map);
    guard.add(map);
    return map;
  }

  /** Closes a policy map; it stays pinned and the programs keep using it. */
  public void releasePolicyMap(BpfMap map) {
    guard.remove(map);
    registry.remove(map);
    map.close();
  }

  /**
   * Unpins and closes a policy map.
   *
   * @throws BindingsException where it cannot be unpinned; it stays open
   */
  public void removePolicyMap(BpfMap map) {
    final int result = BpfFileSystem.unpin(Path.of(map.pinPath()));
    if (result < 0 && result != -Errno.ENOENT) {
      throw new BindingsException("map " + map.name() + ": unpin " + map.pinPath(), result);
    }
    guard.remove(map);
    registry.remove(map);
    map.close();
  }

  @Override
  public void close() {
    carryOver.close();
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
    final MapDescription found = MapDescription.of(fd);
    if (definition.spec().fits(found)) {
      return BpfMap.adopt(fd, definition, pin.toString());
    }
    if (definition.name().equals(MapCatalog.ENDPOINTS.name())
        && FormerEndpoints.isLayoutOf(found)) {
      return carryOver(fd, found, definition, pin, FormerEndpoints::copy);
    }
    if (differsInPreallocation(definition.spec(), found.spec())) {
      return carryOver(fd, found, definition, pin, ResizedMap::copy);
    }
    Descriptors.close(fd);
    if (isConntrack(definition)
        && definition.spec().fits(found.withMaxEntries(definition.spec().maxEntries()))) {
      LOGGER.info(
          "map {}: resizing from {} to {} entries; carrying its flows over",
          definition.name(),
          found.maxEntries(),
          definition.spec().maxEntries());
      ConntrackCarryOver.setAside(pin);
      return null;
    }
    LOGGER.warn(
        "map {}: the pinned map has {}, but {} is required: replacing it, its entries are lost",
        definition.name(),
        found.spec().shape(),
        definition.spec().shape());
    final int result = BpfFileSystem.unpin(pin);
    if (result < 0) {
      throw new BindingsException("map " + definition.name() + ": unpin " + pin, result);
    }
    return null;
  }

  private static boolean differsInPreallocation(MapSpec wanted, MapSpec found) {
    return wanted.flags() == (found.flags() ^ MapFlag.NO_PREALLOC)
        && wanted.shape().equals(found.withFlags(wanted.flags()).shape());
  }

  /** Puts a map of the present layout with the former entries in the place of the former map. */
  private static BpfMap carryOver(
      int fd,
      MapDescription found,
      MapDefinition definition,
      Path pin,
      BiConsumer<BpfMap, BpfMap> entries) {
    final BpfMap map = BpfMap.create(definition, pin.toString());
    try (BpfMap former = BpfMap.adopt(fd, MapDefinition.of(found.spec()), "")) {
      entries.accept(former, map);
      Pins.put(map.fd(), pin);
    } catch (RuntimeException failure) {
      map.close();
      throw failure;
    }
    LOGGER.info(
        "map {}: carried over from {} to {}",
        definition.name(),
        found.spec().shape(),
        definition.spec().shape());
    return map;
  }

  private static BpfMap create(MapDefinition definition, Path pin) {
    final BpfMap map = BpfMap.create(definition, pin.toString());
    final int result = BpfFileSystem.pin(map.fd(), pin);
    if (result < 0) {
      map.close();
      throw new BindingsException("map " + definition.name() + ": pin " + pin, result);
    }
    return map;
  }
}
