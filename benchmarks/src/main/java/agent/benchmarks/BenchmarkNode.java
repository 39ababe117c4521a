package agent.benchmarks;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.net.NetworkDevice;
import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.endpoint.state.MonitorAggregation;
import agent.launcher.DaemonDefaults;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.BackendState;
import agent.maps.layout.PolicyDirection;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A datapath in a separate network namespace: two endpoints on veths, a network device with the
 * prefilter, and the programs that the agent loads and attaches.
 */
final class BenchmarkNode implements AutoCloseable {
  static final int TCP = 6;
  static final int OPEN_PORT = 80;
  static final int CLOSED_PORT = 81;
  static final int SERVICE_PORT = 8080;
  static final int REMOTE_IDENTITY = 2001;
  static final int POLICY_ENTRIES = 16_000;
  static final String REMOTE4 = "192.0.2.7";
  static final String REMOTE6 = "2001:db8:1::7";
  static final String SERVICE4 = "10.96.0.1";
  static final String SERVICE6 = "fd96::1";

  private static final String DEVICE = "net0";
  private static final int FIRST_OTHER_IDENTITY = 100_000;

  private final NetworkNamespace host = NetworkNamespace.create("bench");
  private final NetworkNamespace workload = NetworkNamespace.create("bench");
  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final TestControlGroup group = TestControlGroup.create();
  private final TemporaryFolder state = TemporaryFolder.create();
  private final List<BpfProgram> programs = new ArrayList<>();
  private final Map<End, Integer> interfaces = new EnumMap<>(End.class);
  private final List<EndpointSpec> attached = new ArrayList<>();
  private DatapathManager manager;

  /** One of the two endpoints. */
  enum End {
    FIRST(1, 1001, "10.77.0.10", "fd77::10"),
    SECOND(2, 1002, "10.77.0.11", "fd77::11");

    final int id;
    final int identity;
    final String ipv4;
    final String ipv6;

    End(int id, int identity, String ipv4, String ipv6) {
      this.id = id;
      this.identity = identity;
      this.ipv4 = ipv4;
      this.ipv6 = ipv6;
    }

    String mac() {
      return "02:77:00:00:01:0" + id;
    }

    String hostMac() {
      return "02:77:00:00:02:0" + id;
    }
  }

  BenchmarkNode() throws IOException {}

  NetworkNamespace namespace() {
    return host;
  }

  /**
   * Launches the datapath with the daemon's default configuration, where the device has no address;
   * runs on a thread inside the namespace.
   */
  void launch() {
    VethPair.create(host, DEVICE, workload, "peer");
    launch(Map.of(), Map.of());
  }

  /** As {@link #launch()}, where the device has the addresses of {@link RoutedDevice}. */
  void launchRouted() throws Exception {
    VethPair.create(host, DEVICE, workload, "peer");
    RoutedDevice.route(host, DEVICE);
    launch(Map.of(DEVICE, NetworkDevice.index(DEVICE)), Map.of(DEVICE, RoutedDevice.OWN));
  }

  private void launch(Map<String, Integer> guarded, Map<String, AddressPair> addresses) {
    final DaemonDefaults defaults =
        new DaemonDefaults(state.path(), bpffs.path(), DEVICE, "--cgroup-root=" + group.path());
    manager =
        DatapathManager.launch(
            defaults.datapath(
                new NodeAddressing(
                    FamilyAddressing.of(null, Prefix.parse("10.77.0.0/24")),
                    FamilyAddressing.of(null, Prefix.parse("fd77::/96"))),
                guarded,
                addresses),
            defaults.flows());
    final List<IpcacheEntry> entries = new ArrayList<>();
    entries.add(entry("192.0.2.0/24", REMOTE_IDENTITY, 0));
    entries.add(entry("2001:db8:1::/48", REMOTE_IDENTITY, 0));
    for (final End end : End.values()) {
      entries.add(entry(end.ipv4, end.identity, end.id));
      entries.add(entry(end.ipv6, end.identity, end.id));
    }
    manager
        .ipcache()
        .apply(entries.stream().map(entry -> new IpcacheChange(null, entry)).toList())
        .join();
    for (final End end : End.values()) {
      final VethPair veth = VethPair.create(host, "h" + end.id, workload, "w" + end.id);
      attach(ShippedOptions.endpoint(defaults, end, veth.hostIfindex(), veth.hostInterface()), end);
    }
  }

  /** Serves an address by the second endpoint and two hosts of the network. */
  void serve(boolean ipv6) {
    final List<Backend> backends = new ArrayList<>();
    for (final String address :
        ipv6
            ? new String[] {End.SECOND.ipv6, REMOTE6, "2001:db8:1::8"}
            : new String[] {End.SECOND.ipv4, REMOTE4, "192.0.2.8"}) {
      backends.add(new Backend(IpAddress.parse(address), OPEN_PORT, BackendState.ACTIVE, 1));
    }
    final IpAddress frontend = IpAddress.parse(ipv6 ? SERVICE6 : SERVICE4);
    manager
        .services()
        .put(new ServiceEntries(ipv6 ? 2 : 1, frontend, SERVICE_PORT, List.of(TCP), 0, backends))
        .join();
  }

  DatapathManager manager() {
    return manager;
  }

  /** Returns how many entries a map has room for. */
  int entries(MapProperties map) {
    return manager.maps().find(map.name()).orElseThrow().maxEntries();
  }

  /**
   * A program on the interface of an endpoint, by which the programs find the endpoint.
   *
   * @param program from_endpoint or to_endpoint, opened through its pinned link
   * @param ifindex of the interface
   */
  record Hook(BpfProgram program, int ifindex) {}

  Hook endpointHook(End end, String name) {
    final Path pin = Path.of("endpoints", Integer.toString(end.id), name);
    return new Hook(program(pin), interfaces.get(end));
  }

  /** The program of packets that arrive at the device. */
  Hook deviceHook() {
    return new Hook(
        program(Path.of("devices", DEVICE, "from_network")), NetworkDevice.index(DEVICE));
  }

  /** Returns the MAC address of the device. */
  String deviceMac() {
    return RoutedDevice.mac(DEVICE);
  }

  /** The prefilter's program. */
  BpfProgram prefilterProgram() {
    return program(Path.of("devices", DEVICE, "prefilter"));
  }

  private void attach(EndpointSpec spec, End end) {
    interfaces.put(end, spec.ifindex());
    manager.policyMaps().synchronize(end.id, policy(end)).join();
    manager.endpoints().attach(spec).join();
    attached.add(spec);
  }

  /** Sets the aggregation of the first endpoint. */
  void aggregate(MonitorAggregation level) {
    final EndpointSpec spec = attached.getFirst();
    manager
        .endpoints()
        .attach(
            new EndpointSpec(
                spec.id(),
                spec.ifindex(),
                spec.interfaceName(),
                spec.ipv4(),
                spec.ipv6(),
                spec.mac(),
                spec.hostMac(),
                spec.identity(),
                spec.options(),
                level.ordinal()))
        .join();
  }

  /** Returns the endpoints as they were attached. */
  List<EndpointSpec> attached() {
    return attached;
  }

  /**
   * Allows one port for the remote and the other endpoint; the second endpoint has many more
   * entries.
   */
  private static List<PolicyEntry> policy(End end) {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (final PolicyDirection direction : PolicyDirection.values()) {
      entries.add(PolicyEntry.allow(REMOTE_IDENTITY, direction, TCP, OPEN_PORT));
      for (final End other : End.values()) {
        entries.add(PolicyEntry.allow(other.identity, direction, TCP, OPEN_PORT));
      }
    }
    for (int i = 0; end == End.SECOND && entries.size() < POLICY_ENTRIES; i++) {
      entries.add(
          PolicyEntry.allow(
              FIRST_OTHER_IDENTITY + i, PolicyDirection.INGRESS, TCP, 1 + i % 60_000));
    }
    return entries;
  }

  private BpfProgram program(Path pin) {
    try (BpfLink link =
        BpfLink.openPinned(bpffs.path().resolve("agent").resolve(pin)).orElseThrow()) {
      final BpfProgram program = BpfProgram.openById(link.info().programId());
      programs.add(program);
      return program;
    }
  }

  private static IpcacheEntry entry(String prefix, int identity, int endpoint) {
    return new IpcacheEntry(Prefix.parse(prefix), identity, endpoint, false);
  }

  @Override
  public void close() throws IOException {
    programs.forEach(BpfProgram::close);
    if (manager != null) {
      manager.close();
    }
    group.close();
    bpffs.close();
    workload.close();
    host.close();
    state.close();
  }
}
