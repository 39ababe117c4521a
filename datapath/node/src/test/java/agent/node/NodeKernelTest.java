package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.Devices.Device;
import agent.node.WorkloadRoutes.WorkloadRoute;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class NodeKernelTest {
  private NetworkNamespace host;
  private NetworkNamespace workload;
  private VethPair veth;
  private final NodeStore store = NodeStore.inMemory();

  @BeforeEach
  void setUp() {
    host = NetworkNamespace.create("nodehost");
    workload = NetworkNamespace.create("nodework");
    veth = VethPair.create(host, "lxcnode", workload, "eth0");
  }

  @AfterEach
  void tearDown() {
    workload.close();
    host.close();
  }

  private <T> T inHost(Callable<T> work) throws Exception {
    return host.run(work);
  }

  private Node open() throws Exception {
    return inHost(() -> Node.open(NodeOptions.DEFAULTS, 0, store));
  }

  private WorkloadRoute route() {
    return new WorkloadRoute(
        veth.hostInterface(),
        MacAddress.parse(veth.workloadMac()),
        IpAddress.parse("10.1.0.9"),
        IpAddress.parse("f00d::a01:1:0:9"));
  }

  @Test
  void shouldOwnTheGatewaysAndForward() throws Exception {
    final Node node = open();
    assertEquals(IpAddress.parse("10.1.0.1"), node.addressing().ipv4().gateway());
    final String addresses = host.exec("ip", "-o", "address", "show", "dev", "lo");
    assertTrue(addresses.contains("10.1.0.1/32"), addresses);
    assertTrue(addresses.contains("f00d::a01:1:0:1/128"), addresses);
    assertEquals("1", host.exec("cat", "/proc/sys/net/ipv4/ip_forward").strip());
    assertEquals("1", host.exec("cat", "/proc/sys/net/ipv6/conf/all/forwarding").strip());
    assertTrue(
        inHost(() -> node.localAddresses().reachable()).contains(Prefix.parse("10.1.0.1/32")));
  }

  @Test
  void shouldBeTheSameNodeWhenOpenedAgain() throws Exception {
    final NodeAddressing first = open().addressing();
    assertEquals(first, open().addressing());
  }

  @Test
  void shouldRemoveTheGatewayOfAnotherRange() throws Exception {
    open();
    final NodeOptions other =
        new NodeOptions(true, true, "auto", "auto", "10.44.0.0/16", "auto", "f00d::/64", "");
    inHost(() -> Node.open(other, 0, store));
    final String addresses = host.exec("ip", "-o", "address", "show", "dev", "lo");
    assertTrue(addresses.contains("10.44.0.1/32"), addresses);
    assertFalse(addresses.contains("10.1.0.1/32"), addresses);
  }

  @Test
  void shouldAddAGatewayAgainThatWasRemoved() throws Exception {
    final Node node = open();
    assertEquals(List.of(), inHost(() -> node.gateways().keep(present(node))));
    host.exec("ip", "address", "del", "10.1.0.1/32", "dev", "lo");
    assertEquals(
        List.of(IpAddress.parse("10.1.0.1")), inHost(() -> node.gateways().keep(present(node))));
    final String addresses = host.exec("ip", "-o", "address", "show", "dev", "lo");
    assertTrue(addresses.contains("10.1.0.1/32"), addresses);
  }

  @Test
  void shouldFindDevicesThatHaveNoAddress() throws Exception {
    final Node node = open();
    final Device device = inHost(() -> node.devices().byName("lxcnode")).orElseThrow();
    assertEquals(veth.hostIfindex(), device.index());
    assertEquals(MacAddress.parse(veth.hostMac()), device.mac());
    assertEquals(1500, device.mtu());
    assertEquals(device, inHost(() -> node.devices().byIndex(device.index())).orElseThrow());
    assertTrue(device.isVeth());
    assertTrue(inHost(() -> node.devices().byName("nosuch")).isEmpty());
    assertTrue(inHost(() -> node.devices().byIndex(99_999)).isEmpty());
  }

  @Test
  void shouldReachAWorkloadAndRemoveAllItsRoutes() throws Exception {
    final Node node = open();
    final String before = routesAndNeighbours();
    workload.ip(
        "address add 10.1.0.9/32 dev eth0",
        "route add 10.1.0.1/32 dev eth0",
        "address add f00d::a01:1:0:9/128 dev eth0 nodad",
        "route add f00d::a01:1:0:1/128 dev eth0");
    // The stack answers neighbour solicitations only for addresses of the receiving interface, and
    // no endpoint program is attached that answers for the gateway.
    workload.exec(("ip neigh add f00d::a01:1:0:1 dev eth0 lladdr " + veth.hostMac()).split(" "));
    host.exec("ip", "link", "set", "lxcnode", "down");
    addHere(node);
    addHere(node);
    final String added = routesAndNeighbours();
    assertTrue(added.contains("10.1.0.9 dev lxcnode proto 169 scope link src 10.1.0.1"), added);
    assertTrue(added.contains("PERMANENT"), added);
    assertTrue(Ping.isAnswered(host, "10.1.0.9", 2000));
    assertTrue(Ping.isAnswered(host, "f00d::a01:1:0:9", 2000));
    assertEquals(List.of(), inHost(() -> node.routes().remove(route())));
    assertEquals(before, routesAndNeighbours());
    assertFalse(inHost(() -> node.devices().byName("lxcnode")).orElseThrow().up());
    assertEquals(List.of(), inHost(() -> node.routes().remove(route())));
  }

  @Test
  void shouldAddTheSameRoutesAsTheIpCommand() throws Exception {
    final Node node = open();
    host.ip(
        "link set lxcnode up",
        "route add 10.1.0.9/32 dev lxcnode src 10.1.0.1 scope link proto 169",
        "route add f00d::a01:1:0:9/128 dev lxcnode src f00d::a01:1:0:1 proto 169");
    final String neighbour = " lladdr " + veth.workloadMac() + " dev lxcnode nud permanent";
    host.ip(
        "neigh replace 10.1.0.9" + neighbour + " protocol 169",
        "neigh replace f00d::a01:1:0:9" + neighbour + " protocol 169");
    final String byIp = routesAndNeighbours();
    addHere(node);
    assertEquals(byIp, routesAndNeighbours());
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of(route()))));
    assertEquals(byIp, routesAndNeighbours());
    inHost(() -> node.routes().remove(route()));
    addHere(node);
    assertEquals(byIp, routesAndNeighbours());
    inHost(() -> node.routes().remove(route()));
    host.exec("ip", "link", "set", "lxcnode", "up");
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of(route()))));
    assertEquals(byIp, routesAndNeighbours());
  }

  @Test
  void shouldFindADeviceByItsOwnNameOnly() throws Exception {
    final Node node = open();
    host.exec("ip", "link", "property", "add", "dev", "lxcnode", "altname", "other-name");
    assertTrue(inHost(() -> node.devices().byName("other-name")).isEmpty());
    assertEquals("lxcnode", inHost(() -> node.devices().byName("lxcnode")).orElseThrow().name());
    assertEquals(null, inHost(() -> node.devices().byName("lo")).orElseThrow().mac());
    assertFalse(inHost(() -> node.devices().byName("lo")).orElseThrow().isVeth());
  }

  private void addHere(Node node) throws Exception {
    inHost(
        () -> {
          node.routes().add(route());
          return null;
        });
  }

  private String routesAndNeighbours() {
    return host.exec("ip", "route", "show")
        + host.exec("ip", "-6", "route", "show", "proto", "169")
        + host.exec("ip", "-N", "-o", "neigh", "show", "proto", "169");
  }

  @Test
  void shouldFindNothingToRemoveWhereTheInterfaceIsGone() throws Exception {
    final Node node = open();
    addHere(node);
    veth.delete();
    assertEquals(List.of(), inHost(() -> node.routes().remove(route())));
  }

  @Test
  void shouldNeitherReplaceNorRemoveTheRouteOfAnotherProgram() throws Exception {
    final Node node = open();
    host.exec("ip", "route", "add", "10.1.0.9/32", "dev", "lo", "proto", "static");
    final OperationException refusal = assertThrows(OperationException.class, () -> addHere(node));
    assertTrue(
        refusal.getMessage().contains("EEXIST: another route exists: of protocol 4 through 'lo'"),
        refusal.getMessage());
    inHost(() -> node.routes().remove(route()));
    final String routes = host.exec("ip", "route", "show");
    assertTrue(routes.contains("10.1.0.9 dev lo proto static"), routes);
  }

  @Test
  void shouldRefuseAnInterfaceThatIsGone() throws Exception {
    final Node node = open();
    veth.delete();
    final OperationException refusal = assertThrows(OperationException.class, () -> addHere(node));
    assertTrue(
        refusal.getMessage().contains("interface 'lxcnode' does not exist"), refusal.getMessage());
  }

  @Test
  void shouldKeepOnlyTheRoutesOfWorkloadsThatAreLeft() throws Exception {
    final Node node = open();
    addHere(node);
    final WorkloadRoute other =
        new WorkloadRoute(
            veth.hostInterface(),
            MacAddress.parse(veth.workloadMac()),
            IpAddress.parse("10.1.0.10"),
            null);
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of(other))));
    final String routes = routesAndNeighbours();
    assertTrue(routes.contains("10.1.0.10 "), routes);
    assertFalse(routes.contains("10.1.0.9 "), routes);
    assertFalse(routes.contains("f00d::a01:1:0:9"), routes);
  }

  @Test
  void shouldAddAgainWhatAnotherProgramRemoved() throws Exception {
    final Node node = open();
    addHere(node);
    final String before = routesAndNeighbours();
    host.ip(
        "route del 10.1.0.9/32 dev lxcnode",
        "neigh del f00d::a01:1:0:9 dev lxcnode",
        "neigh replace 10.1.0.9 lladdr 02:00:00:00:00:99 dev lxcnode nud permanent");
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of(route()))));
    assertEquals(before, routesAndNeighbours());
  }

  @Test
  void shouldLeaveAnInterfaceDownWhenItSynchronizesAndSetItUpWhenItAdds() throws Exception {
    final Node node = open();
    addHere(node);
    final String before = routesAndNeighbours();
    host.ip("link set lxcnode down");
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of(route()))));
    assertFalse(routesAndNeighbours().contains("10.1.0.9 "));
    addHere(node);
    assertEquals(before, routesAndNeighbours());
  }

  @Test
  void shouldRemoveOnlyItsOwnWhenItSynchronizes() throws Exception {
    final Node node = open();
    addHere(node);
    host.ip(
        "route add 10.1.0.77/32 dev lxcnode proto static",
        "route add 10.1.0.80/32 dev lxcnode proto static",
        "route add 10.1.0.78/31 dev lxcnode proto 169",
        "route add 10.1.0.80/32 dev lxcnode proto 169 metric 50",
        "neigh add 10.1.0.77 lladdr 02:00:00:00:00:77 dev lxcnode nud permanent");
    assertEquals(List.of(), inHost(() -> node.routes().synchronize(List.of())));
    final String routes = host.exec("ip", "-N", "route", "show");
    assertTrue(routes.contains("10.1.0.77 dev lxcnode proto 4"), routes);
    assertTrue(routes.contains("10.1.0.78/31 dev lxcnode proto 169"), routes);
    assertTrue(routes.contains("10.1.0.80 dev lxcnode proto 4"), routes);
    assertFalse(routes.contains("10.1.0.80 dev lxcnode proto 169"), routes);
    assertFalse(routes.contains("10.1.0.9 "), routes);
    final String neighbours = host.exec("ip", "neigh", "show");
    assertTrue(neighbours.contains("10.1.0.77 dev lxcnode"), neighbours);
    assertFalse(neighbours.contains("10.1.0.9 "), neighbours);
  }

  @Test
  void shouldNameTheRouteOfAnotherProgramAndAddTheOthers() throws Exception {
    final Node node = open();
    host.ip("link set lxcnode up", "route add 10.1.0.9/32 dev lo proto static");
    final List<String> errors = inHost(() -> node.routes().synchronize(List.of(route())));
    assertEquals(1, errors.size(), errors.toString());
    assertTrue(
        errors.getFirst().startsWith("route 10.1.0.9/32 through link " + veth.hostIfindex()),
        errors.toString());
    assertTrue(errors.getFirst().endsWith("of protocol 4 through 'lo'"), errors.toString());
    final String routes = routesAndNeighbours();
    assertTrue(routes.contains("10.1.0.9 dev lo proto static"), routes);
    assertTrue(routes.contains("f00d::a01:1:0:9 dev lxcnode"), routes);
  }

  @Test
  void shouldReportAMissingInterfaceAndRouteTheOthers() throws Exception {
    final Node node = open();
    host.exec("ip", "link", "set", "lxcnode", "up");
    final WorkloadRoute gone =
        new WorkloadRoute("nosuch", MacAddress.of(2), IpAddress.parse("10.1.0.10"), null);
    assertEquals(
        List.of("interface 'nosuch' does not exist"),
        inHost(() -> node.routes().synchronize(List.of(gone, route()))));
    assertTrue(routesAndNeighbours().contains("10.1.0.9 dev lxcnode"));
    assertEquals(List.of(), inHost(() -> node.routes().setDown("nosuch")));
  }

  @Test
  void shouldListItsAddressesAndTheDeviceOfTheDefaultRoute() throws Exception {
    final Node node = open();
    assertEquals(Optional.empty(), inHost(() -> node.localAddresses().defaultDevice(true)));
    host.ip(
        "address add 192.0.2.1/24 dev lxcnode",
        "route add default via 192.0.2.9 metric 20",
        "route add unreachable default metric 5",
        "route add default dev lo metric 30");
    host.ip("-6 route add default dev lxcnode");
    host.ip("-6 route add unreachable default metric 5");
    assertEquals(Optional.of("lxcnode"), inHost(() -> node.localAddresses().defaultDevice(true)));
    assertEquals(Optional.of("lxcnode"), inHost(() -> node.localAddresses().defaultDevice(false)));
    assertTrue(
        inHost(() -> node.localAddresses().all())
            .contains(new LocalAddress(IpAddress.parse("192.0.2.1"), 24, "lxcnode")));
  }

  @Test
  void shouldFindTheDevicesByWhichPacketsOfTheNetworkComeIn() throws Exception {
    final Node node = inHost(() -> Node.open(device("auto,!held+,pat+"), 0, NodeStore.inMemory()));
    assertEquals(Set.of(), guarded(node));
    for (final String name : List.of("out0", "held0", "pat0", "bare0")) {
      host.ip("link add " + name + " type veth peer name p" + name, "link set " + name + " up");
    }
    assertEquals(Set.of("pat0"), guarded(node));
    host.ip("address add 192.0.2.1/24 dev out0", "address add 2001:db8:9::1/64 nodad dev held0");
    assertEquals(Set.of("out0", "pat0"), guarded(node));
    host.ip("route add 10.250.0.9/32 dev pat0 proto " + RouteDifference.PROTOCOL);
    assertEquals(Set.of("out0"), guarded(node), "a workload is behind it");
    host.ip(
        "address del 192.0.2.1/24 dev out0",
        "link set bare0 up",
        "link set pbare0 up",
        "route add default dev bare0");
    assertEquals(Set.of("bare0"), guarded(node));
    assertEquals(
        Set.of("bare0", "held0"),
        inHost(() -> node.guardedDevices().facing()),
        "held0 is not guarded");
  }

  private Set<String> guarded(Node node) throws Exception {
    return inHost(() -> node.guardedDevices().present()).keySet();
  }

  private static NodeOptions device(String value) {
    final NodeOptions defaults = NodeOptions.DEFAULTS;
    return new NodeOptions(
        true,
        true,
        defaults.ipv4Node(),
        defaults.ipv6Node(),
        defaults.ipv4Range(),
        defaults.ipv6Range(),
        defaults.ipv6ClusterAllocCidr(),
        value);
  }

  private static Set<IpAddress> present(Node node) {
    return node.localAddresses().all().stream()
        .map(LocalAddress::address)
        .collect(Collectors.toSet());
  }
}
