package agent.launcher.process;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.SocketHook;
import agent.launcher.process.CrashApi.ShownEndpoint;
import agent.launcher.process.CrashNode.CrashWorkload;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapCursor;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.kernel.PolicyMapArray;
import agent.maps.kernel.PrefilterTables;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.MapSize;
import agent.maps.layout.PrefilterSlotFlyweight;
import agent.maps.layout.PrefilterTable;
import agent.maps.layout.ServiceBackendKeyFlyweight;
import agent.maps.layout.ServiceEndFlyweight;
import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.agrona.MutableDirectBuffer;

/**
 * What the kernel holds for the endpoints and the prefilter of a node, as lines of text: those that
 * a set of endpoints needs, and those that are there.
 */
final class CrashKernel {
  private static final MapDefinitions MAPS =
      MapDefinitions.of("endpoint", "host", "prefilter", "socket");
  private static final Set<String> HOOKS = Set.of("from_endpoint", "to_endpoint");
  private static final Pattern ROUTE =
      Pattern.compile("^((?:10\\.210|fd00:210)\\S*) .*dev (wl\\d)\\b");
  private static final Pattern LINK = Pattern.compile("^\\d+: (wl\\d)@\\S+ <([^>]*)>");
  private static final int HIGHEST_ID = 8000;

  private final CrashNode node;

  CrashKernel(CrashNode node) {
    this.node = node;
  }

  /** Returns the lines that these endpoints and the known deny list need. */
  Set<String> needed(Map<String, ShownEndpoint> endpoints) {
    final Set<String> lines = new TreeSet<>();
    for (final CrashWorkload workload : node.workloads()) {
      final ShownEndpoint endpoint = endpoints.get(workload.veth().hostInterface());
      if (endpoint != null) {
        need(lines, workload, endpoint);
      }
    }
    node.denyList().known().deny().forEach(prefix -> lines.add("prefilter entry " + prefix));
    for (final int id : node.withService()) {
      node.services().get(id).known().need(id, lines);
    }
    if (!node.withService().isEmpty()) {
      for (final SocketHook hook : SocketHook.values()) {
        lines.add("sockets: socket_" + hook.name().toLowerCase(Locale.ROOT));
      }
    }
    return lines;
  }

  private static void need(Set<String> lines, CrashWorkload workload, ShownEndpoint endpoint) {
    final int id = endpoint.content().id();
    final String device = workload.veth().hostInterface();
    lines.add("link " + device + " is up");
    lines.add(slot(id, workload.veth().hostIfindex(), endpoint.identity()));
    lines.add("policy slot of endpoint " + id);
    lines.add("policy map pin of endpoint " + id);
    for (final String hook : HOOKS) {
      lines.add(hook(id, hook, workload.veth().hostIfindex()));
    }
    for (final String address : new String[] {endpoint.ipv4(), endpoint.ipv6()}) {
      lines.add("route to " + address + " on " + device);
      lines.add("neighbour " + address + " on " + device);
      lines.add(ipcache(address, endpoint.identity(), id));
    }
  }

  /** Returns the lines that are there. */
  Set<String> present() throws IOException {
    final Set<String> lines = new TreeSet<>();
    addPins(lines);
    addSocketPins(lines);
    addMaps(lines);
    addMatches(lines, LINK, this::addLink, "ip", "-o", "link", "show", "type", "veth");
    final BiConsumer<Set<String>, Matcher> route =
        (found, match) -> found.add("route to " + match.group(1) + " on " + match.group(2));
    addMatches(lines, ROUTE, route, "ip", "-4", "route", "show");
    addMatches(lines, ROUTE, route, "ip", "-6", "route", "show");
    addMatches(
        lines,
        ROUTE,
        (found, match) -> found.add("neighbour " + match.group(1) + " on " + match.group(2)),
        "ip",
        "neighbour",
        "show",
        "nud",
        "permanent");
    return lines;
  }

  private void addMatches(
      Set<String> lines, Pattern pattern, BiConsumer<Set<String>, Matcher> add, String... command) {
    node.node()
        .namespace()
        .exec(command)
        .lines()
        .map(line -> pattern.matcher(line.strip()))
        .filter(Matcher::find)
        .forEach(match -> add.accept(lines, match));
  }

  private void addLink(Set<String> lines, Matcher match) {
    if (Set.of(match.group(2).split(",")).contains("UP")) {
      lines.add("link " + match.group(1) + " is up");
    }
  }

  private void addPins(Set<String> lines) throws IOException {
    for (final Path pin : pins("endpoints")) {
      final Optional<BpfLink> opened = BpfLink.openPinned(pin); // it may go meanwhile
      if (opened.isPresent()) {
        try (BpfLink link = opened.get()) {
          final LinkDescription description = link.info();
          final String hook = pin.getFileName().toString();
          final boolean isRight = description.isTcxIngress() == hook.equals("from_endpoint");
          final int id = Integer.parseInt(pin.getParent().getFileName().toString());
          lines.add(hook(id, hook, description.ifindex()) + (isRight ? "" : ", wrong direction"));
        }
      }
    }
  }

  /** The programs at sockets, which are attached while there is a service. */
  private void addSocketPins(Set<String> lines) throws IOException {
    for (final Path pin : pins("sockets")) {
      final Optional<BpfLink> opened = BpfLink.openPinned(pin);
      if (opened.isPresent()) {
        try (BpfLink link = opened.get()) {
          final boolean isAttached = link.info().cgroupId() != 0;
          lines.add("sockets: " + pin.getFileName() + (isAttached ? "" : ", detached"));
        }
      }
    }
  }

  private Set<Integer> pinnedPolicies() throws IOException {
    final Set<Integer> pinned = new TreeSet<>();
    for (final Path pin : pins("maps")) {
      final String name = pin.getFileName().toString();
      if (name.startsWith("policy_")) {
        pinned.add(Integer.parseInt(name.substring(7)));
      }
    }
    return pinned;
  }

  /**
   * Adds the policy map of each endpoint, which endpoints share, and those that no endpoint uses.
   *
   * @param numbers the number of the policy map of each endpoint
   */
  private void addPolicies(Set<String> lines, Map<Integer, Integer> numbers) throws IOException {
    final Set<Integer> pinned = pinnedPolicies();
    try (BpfMap policies = open(MapCatalog.POLICIES)) {
      final PolicyMapArray slots = new PolicyMapArray(policies);
      numbers.forEach(
          (id, number) -> {
            if (slots.mapId(number) > 0) {
              lines.add("policy slot of endpoint " + id);
            }
            if (pinned.contains(number)) {
              lines.add("policy map pin of endpoint " + id);
            }
          });
      for (int number = 1; number < HIGHEST_ID; number++) {
        if (slots.mapId(number) > 0 && !numbers.containsValue(number)) {
          lines.add("policy slot " + number + " of no endpoint");
        }
      }
    }
    pinned.stream()
        .filter(number -> !numbers.containsValue(number))
        .forEach(number -> lines.add("policy map pin " + number + " of no endpoint"));
  }

  /** A kill before the agent has made its folders leaves none. */
  private List<Path> pins(String folder) throws IOException {
    return PinnedObjects.pins(node.node().bpfRoot().resolve("agent").resolve(folder));
  }

  private void addMaps(Set<String> lines) throws IOException {
    final Map<Integer, Integer> policyNumbers = new TreeMap<>();
    final IpcacheEntryFlyweight entry = new IpcacheEntryFlyweight();
    walk(
        MapCatalog.IPCACHE4,
        (key, value) -> {
          final Ipcache4KeyFlyweight prefix = new Ipcache4KeyFlyweight().wrap(key, 0);
          entry.wrap(value, 0);
          addIpcache(lines, IpAddress.ofIpv4(prefix.address()), entry);
        });
    walk(
        MapCatalog.IPCACHE6,
        (key, value) -> {
          final Ipcache6KeyFlyweight prefix = new Ipcache6KeyFlyweight().wrap(key, 0);
          entry.wrap(value, 0);
          addIpcache(lines, IpAddress.ofIpv6(prefix.addressHigh(), prefix.addressLow()), entry);
        });
    walk(
        MapCatalog.ENDPOINTS,
        (key, value) -> {
          final EndpointEntryFlyweight endpoint = new EndpointEntryFlyweight().wrap(value, 0);
          lines.add(slot(key.getInt(0), endpoint.ifindex(), endpoint.identity()));
          policyNumbers.put(key.getInt(0), endpoint.policyId());
        });
    addServices(lines);
    denyList(lines);
    addPolicies(lines, policyNumbers);
  }

  private void addServices(Set<String> lines) {
    final ServiceEntryFlyweight entry = new ServiceEntryFlyweight();
    walk(
        MapCatalog.SERVICES,
        (key, value) -> {
          final ServiceKeyFlyweight frontend = new ServiceKeyFlyweight().wrap(key, 0);
          entry.wrap(value, 0);
          lines.add(
              CrashService.frontend(
                  end(frontend.addressHigh(), frontend.addressLow(), frontend.port()),
                  frontend.protocol(),
                  entry.serviceId(),
                  entry.slots(),
                  entry.affinityS()));
        });
    final ServiceSlotFlyweight slot = new ServiceSlotFlyweight();
    walk(
        MapCatalog.SERVICE_SLOTS,
        (key, value) -> {
          final ServiceSlotKeyFlyweight number = new ServiceSlotKeyFlyweight().wrap(key, 0);
          slot.wrap(value, 0);
          lines.add(CrashService.slot(number.serviceId(), number.slot()));
          final String end = end(slot.addressHigh(), slot.addressLow(), slot.port());
          lines.add(CrashService.drawn(number.serviceId(), end));
        });
    addTables(lines);
    walk(
        MapCatalog.SERVICE_BACKENDS,
        (key, value) -> {
          final ServiceBackendKeyFlyweight backend = new ServiceBackendKeyFlyweight().wrap(key, 0);
          final String end = end(backend.addressHigh(), backend.addressLow(), backend.port());
          lines.add(CrashService.backend(backend.serviceId(), end, value.getInt(0)));
        });
  }

  /** Cells and choices of a version that no table has are left. */
  private void addTables(Set<String> lines) {
    final Map<Long, Integer> parts = new TreeMap<>();
    final ServiceTableFlyweight table = new ServiceTableFlyweight();
    walk(
        MapCatalog.SERVICE_TABLES,
        (key, value) -> {
          table.wrap(value, 0);
          parts.put(
              version(key.getInt(0), table.version()),
              Math.ceilDiv(table.cells(), MapSize.SERVICE_CELLS));
        });
    final Set<Long> versions = Set.copyOf(parts.keySet());
    final ServiceTableKeyFlyweight part = new ServiceTableKeyFlyweight();
    walk(
        MapCatalog.SERVICE_CELLS,
        (key, value) -> {
          part.wrap(key, 0);
          parts.merge(version(part.serviceId(), part.version()), -1, Integer::sum);
        });
    parts.forEach(
        (version, missing) -> {
          final int id = (int) (version >>> Short.SIZE);
          lines.add(
              missing == 0
                  ? CrashService.table(id)
                  : "service " + id + ": cells of a table lack " + missing);
        });
    final ServiceEndFlyweight end = new ServiceEndFlyweight();
    walk(
        MapCatalog.SERVICE_ENDS,
        (key, value) -> {
          part.wrap(key, 0);
          end.wrap(value, 0);
          final String address = end(end.addressHigh(), end.addressLow(), end.port());
          lines.add(
              versions.contains(version(part.serviceId(), part.version()))
                  ? CrashService.choice(part.serviceId(), address)
                  : "service " + part.serviceId() + ": a choice of no table is " + address);
        });
  }

  private static long version(int id, int version) {
    return (long) id << Short.SIZE | version;
  }

  /** IPv4 addresses are IPv4-mapped ones. */
  private static String end(long high, long low, int port) {
    final IpAddress address =
        high == 0 && low >>> Integer.SIZE == 0xffff
            ? IpAddress.ofIpv4((int) low)
            : IpAddress.ofIpv6(high, low);
    return address + " port " + port;
  }

  /** The list that the prefilter keeps beside its tables; each slot is a prefix and its family. */
  private void denyList(Set<String> lines) {
    final PrefilterSlotFlyweight slot = new PrefilterSlotFlyweight();
    try (BpfMap tables = open(MapCatalog.PREFILTER_TABLES)) {
      final int fd = MapCalls.openById(new PrefilterTables(tables).mapId(PrefilterTable.LIST));
      final int slots = MapDescription.of(fd).maxEntries();
      try (BpfMap list = BpfMap.adopt(fd, MAPS.prefilterTable(PrefilterTable.LIST, slots), "")) {
        walk(
            list,
            (key, value) -> {
              slot.wrap(value, 0);
              final int length = (int) slot.words(2);
              final int family = (int) slot.words(3);
              if (family != 0) {
                final IpAddress address =
                    family == 4
                        ? IpAddress.ofIpv4((int) slot.words(1))
                        : IpAddress.ofIpv6(slot.words(0), slot.words(1));
                lines.add("prefilter entry " + Prefix.of(address, length));
              }
            });
      }
    }
  }

  private static void addIpcache(
      Set<String> lines, IpAddress address, IpcacheEntryFlyweight entry) {
    if (entry.endpointId() != 0) {
      lines.add(ipcache(address.toString(), entry.identity(), entry.endpointId()));
    }
  }

  private void walk(
      MapProperties map, BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    try (BpfMap open = open(map)) {
      walk(open, visitor);
    }
  }

  private static void walk(
      BpfMap open, BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    try (MapCursor cursor = new MapCursor()) {
      cursor.open(open);
      while (cursor.next()) {
        visitor.accept(cursor.key(), cursor.value());
      }
      if (cursor.error() != 0) {
        throw open.failure("walk", "all", cursor.error());
      }
    }
  }

  private BpfMap open(MapProperties map) {
    final Path pin = node.node().bpfRoot().resolve("agent/maps").resolve(map.name());
    return BpfMap.adopt(BpfFileSystem.open(pin), MAPS.get(map), pin.toString());
  }

  private static String slot(int id, int ifindex, int identity) {
    return "slot of endpoint " + id + ": ifindex " + ifindex + ", identity " + identity;
  }

  private static String hook(int id, String hook, int ifindex) {
    return "endpoint " + id + ": " + hook + " on ifindex " + ifindex;
  }

  private static String ipcache(String address, int identity, int id) {
    return "ipcache " + address + ": identity " + identity + " of endpoint " + id;
  }
}
