package agent.benchmarks;

import agent.datapath.manager.DatapathManager;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.PolicyEntry;
import agent.endpoint.state.EndpointOptions;
import agent.identity.ReservedIdentity;
import agent.launcher.DaemonDefaults;
import agent.maps.layout.PolicyDirection;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A node in a network namespace with workloads in others: endpoints of a datapath with the daemon's
 * default options and a policy that allows TCP to {@link #PORT} between them, and workloads beside
 * it to which the kernel routes, without a program.
 */
final class TrafficNode implements AutoCloseable {
  static final int PORT = 8080;

  private static final int TCP = 6;
  private static final int FIRST_IDENTITY = 2000;
  private static final String DEVICE = "net0";
  private static final String BARE_DEVICE = "net1";

  /** The address of the node that clients outside use, on the guarded device. */
  static final String ADDRESS = "198.51.100.1";

  /** The same on the device without programs. */
  static final String BARE_ADDRESS = "198.51.101.1";

  private final NetworkNamespace host = NetworkNamespace.create("traf");
  private final NetworkNamespace outside = NetworkNamespace.create("outside");
  private final NetworkNamespace bareOutside = NetworkNamespace.create("bare");
  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final List<Workload> workloads = new ArrayList<>();
  private final TemporaryFolder state = TemporaryFolder.create();
  private final DaemonDefaults defaults;
  private final NodeAddressing addressing =
      new NodeAddressing(
          FamilyAddressing.of(null, Prefix.parse("10.77.0.0/24")),
          FamilyAddressing.of(null, Prefix.parse("fd77::/96")));
  private DatapathManager manager;

  /** Creates a node with the default options but for the given ones. */
  TrafficNode(String... options) throws Exception {
    defaults = new DaemonDefaults(state.path(), bpffs.path(), DEVICE, options);
    connect(DEVICE, ADDRESS, outside);
    connect(BARE_DEVICE, BARE_ADDRESS, bareOutside);
    host.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    host.exec("ip", "address", "add", gateway4() + "/32", "dev", "lo");
    host.exec("ip", "-6", "address", "add", gateway6() + "/128", "dev", "lo", "nodad");
    manager =
        host.run(
            () ->
                DatapathManager.launch(
                    defaults.datapath(addressing, Map.of(), Map.of()), defaults.flows()));
  }

  /** Connects a client by a device of the node; its address ends in 8. */
  private void connect(String device, String address, NetworkNamespace client) {
    VethPair.create(host, device, client, "eth0");
    host.ip("address add " + address + "/24 dev " + device);
    client.ip("address add " + address.substring(0, address.length() - 1) + "8/24 dev eth0");
    client.ip("route add default via " + address);
    reusePorts(client);
  }

  /** Guards the device of the network, and returns a client outside, whose packets it receives. */
  NetworkNamespace outside() throws Exception {
    final int ifindex = host.run(() -> NetworkInterface.getByName(DEVICE).getIndex());
    manager.devices().guard(Map.of(DEVICE, ifindex)).join();
    return outside;
  }

  /** Returns a client outside, whose packets a device without programs receives. */
  NetworkNamespace bareOutside() {
    return bareOutside;
  }

  private String gateway4() {
    return addressing.ipv4().gateway().toString();
  }

  private String gateway6() {
    return addressing.ipv6().gateway().toString();
  }

  DatapathManager manager() {
    return manager;
  }

  /** Runs a command on the node. */
  void exec(String... command) {
    host.exec(command);
  }

  /** Returns the options of the endpoints. */
  String options() {
    final EndpointSpec any = spec(1, workloads.getFirst());
    return ShippedOptions.text(any) + "; " + ShippedOptions.text(manager);
  }

  /** Creates a workload without an endpoint; its address ends in the number. */
  Workload bare(int number) throws IOException {
    final Workload workload =
        Workload.create(
                host, "t" + number, "10.77.0." + number, gateway4(), "fd77::" + number, gateway6())
            .routeFromNode();
    reusePorts(workload.namespace());
    workloads.add(workload);
    return workload;
  }

  /** Ports of closed connections are used again after a second, so that they are enough. */
  private static void reusePorts(NetworkNamespace client) {
    client.exec(
        "sysctl",
        "-qw",
        "net.ipv4.ip_local_port_range=1024 65535",
        "net.ipv4.tcp_tw_reuse=1",
        "net.ipv4.tcp_max_tw_buckets=8192");
  }

  /** Creates a workload that is an endpoint of the datapath. */
  Workload endpoint(int number) throws IOException {
    return endpoint(number, policy());
  }

  /** Creates an endpoint that may send everything everywhere. */
  Workload unconfined(int number) throws IOException {
    return endpoint(number, List.of(PolicyEntry.allowAll(0, PolicyDirection.EGRESS)));
  }

  private Workload endpoint(int number, List<PolicyEntry> policy) throws IOException {
    final Workload workload = bare(number);
    final List<IpcacheChange> changes = new ArrayList<>();
    for (final String address : List.of(workload.ipv4(), workload.ipv6())) {
      changes.add(
          new IpcacheChange(
              null,
              new IpcacheEntry(Prefix.parse(address), FIRST_IDENTITY + number, number, false)));
    }
    manager.ipcache().apply(changes).join();
    manager.policyMaps().synchronize(number, policy).join();
    manager.endpoints().attach(spec(number, workload)).join();
    return workload;
  }

  private static List<PolicyEntry> policy() {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (final PolicyDirection direction : PolicyDirection.values()) {
      for (int number = 1; number < 100; number++) {
        entries.add(PolicyEntry.allow(FIRST_IDENTITY + number, direction, TCP, PORT));
      }
    }
    final int world = ReservedIdentity.world(true).identity().id();
    entries.add(PolicyEntry.allow(world, PolicyDirection.INGRESS, TCP, PORT));
    return entries;
  }

  private EndpointSpec spec(int number, Workload workload) {
    final EndpointOptions options = defaults.endpoint();
    return new EndpointSpec(
        number,
        workload.veth().hostIfindex(),
        workload.veth().hostInterface(),
        IpAddress.parse(workload.ipv4()),
        IpAddress.parse(workload.ipv6()),
        MacAddress.parse(workload.veth().workloadMac()),
        MacAddress.parse(workload.veth().hostMac()),
        FIRST_IDENTITY + number,
        options.bits(),
        options.aggregation().ordinal());
  }

  @Override
  public void close() throws IOException {
    if (manager != null) {
      manager.close();
    }
    workloads.forEach(Workload::close);
    bpffs.close();
    host.close();
    outside.close();
    bareOutside.close();
    state.close();
  }
}
