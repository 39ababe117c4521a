package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;

import agent.datapath.spec.Balancing;
import agent.datapath.spec.Masquerading;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.datapath.spec.SocketPorts;
import agent.datapath.spec.TcMode;
import agent.maps.layout.BackendState;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.testkit.VethPair;
import agent.testkit.Workload;
import agent.types.AddressPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A node on which the datapath has every program and map that options can give it: an endpoint, a
 * device with masquerading and NAT46, another with the prefilter and the balancer, and a service.
 */
final class GuardedNode implements AutoCloseable {
  static final int ENDPOINT = 931;
  static final String DEVICE = "dev0";
  static final String OTHER_DEVICE = "dev1";
  private static final int IDENTITY = 9301;

  private final ManagerTestNode node = new ManagerTestNode();
  private final NetworkNamespace outside = NetworkNamespace.create("out");
  private final TestControlGroup group = TestControlGroup.create();
  private final Workload workload;
  private final DatapathManager manager;
  private final GuardWatch watch;

  GuardedNode(TcMode mode) {
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    VethPair.create(node.namespace(), OTHER_DEVICE, outside, "net1");
    final AddressPair sources =
        new AddressPair(IpAddress.parse("192.0.2.1"), IpAddress.parse("2001:db8::1"));
    final Prefix range = Prefix.parse("64:ff9b::/96");
    manager =
        node.launch(
            node.context()
                .tcMode(mode)
                .cgroupRoot(group.path())
                .devices(Map.of(DEVICE, VethPair.index(node.namespace(), DEVICE)))
                .prefilterDevice(OTHER_DEVICE)
                .prefilterMode(PrefilterMode.GENERIC)
                .balancing(new Balancing(OTHER_DEVICE, sources))
                .masquerading(new Masquerading(Map.of(), null, null, SocketPorts.NONE, range)));
    watch = new GuardWatch(manager);
    workload = node.workload(94);
    await(manager.ipcache().read());
    await(manager.services().restore(List.of(), Set.of()));
    await(manager.services().put(service()));
    ManagerTestNode.attach(
        manager, ManagerTestNode.spec(ENDPOINT, workload, IDENTITY), ManagerTestNode.allowAll());
    manager
        .prefilter()
        .add(
            OptionalLong.empty(),
            List.of(Prefix.parse("198.51.100.0/27"), Prefix.parse("2001:db8:7::/64")));
    watch.awaitRight();
  }

  private static ServiceEntries service() {
    final Backend backend = new Backend(IpAddress.parse("192.0.2.9"), 8080, BackendState.ACTIVE, 1);
    return new ServiceEntries(
        1, IpAddress.parse("10.99.0.1"), 80, List.of(6, 17), 60, List.of(backend));
  }

  DatapathManager manager() {
    return manager;
  }

  GuardWatch watch() {
    return watch;
  }

  NetworkNamespace namespace() {
    return node.namespace();
  }

  /** Returns the names of the devices that have programs. */
  List<String> devices() {
    return List.of(DEVICE, OTHER_DEVICE, workload.veth().hostInterface());
  }

  Path bpfRoot() {
    return node.bpfRoot();
  }

  /** Returns the paths of all pins of the agent, relative to the mount point. */
  List<String> pins() {
    return node.pins().stream().filter(pin -> pin.startsWith("agent/")).toList();
  }

  @Override
  public void close() throws IOException {
    manager.close();
    group.close();
    outside.close();
    node.close();
  }
}
