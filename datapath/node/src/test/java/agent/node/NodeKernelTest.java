package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.concurrent.Callable;
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
    return inHost(() -> Node.open(NodeOptions.DEFAULTS, store));
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
        inHost(() -> node.localAddresses().reachable()).contains(IpAddress.parse("10.1.0.1")));
  }

  @Test
  void shouldBeTheSameNodeWhenOpenedAgain() throws Exception {
    final NodeAddressing first = open().addressing();
    assertEquals(first, open().addressing());
  }

  @Test
  void shouldTakeTheGatewayOfAnotherRangeBack() throws Exception {
    open();
    final NodeOptions other =
        new NodeOptions(true, true, "auto", "auto", "10.44.0.0/16", "auto", "f00d::/64", "");
    inHost(() -> Node.open(other, store));
    final String addresses = host.exec("ip", "-o", "address", "show", "dev", "lo");
    assertTrue(addresses.contains("10.44.0.1/32"), addresses);
    assertFalse(addresses.contains("10.1.0.1/32"), addresses);
  }

  @Test
  void shouldTakeBackAGatewayThatWasTakenAway() throws Exception {
    final Node node = open();
    assertEquals(List.of(), inHost(() -> node.gateways().keep(node.localAddresses().reachable())));
    host.exec("ip", "address", "del", "10.1.0.1/32", "dev", "lo");
    assertEquals(
        List.of(IpAddress.parse("10.1.0.1")),
        inHost(() -> node.gateways().keep(node.localAddresses().reachable())));
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
  void shouldReachAWorkloadAndTakeAllBack() throws Exception {
    final Node node = open();
    final String before = routesAndNeighbours();
    workload.exec("ip", "address", "add", "10.1.0.9/32", "dev", "eth0");
    workload.exec("ip", "route", "add", "10.1.0.1/32", "dev", "eth0");
    workload.exec("ip", "address", "add", "f00d::a01:1:0:9/128", "dev", "eth0", "nodad");
    workload.exec("ip", "route", "add", "f00d::a01:1:0:1/128", "dev", "eth0");
    // The stack answers solicitations for addresses of the asked interface only; the endpoint's
    // program is not here to answer for the gateway.
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
  void shouldAddAtOnceWhatIpWouldAdd() throws Exception {
    final Node node = open();
    host.exec("ip", "link", "set", "lxcnode", "up");
    inHost(() -> node.routes().synchronize(List.of(route())));
    final String byIp = routesAndNeighbours();
    assertTrue(byIp.contains("f00d::a01:1:0:9"), byIp);
    inHost(() -> node.routes().remove(route()));
    addHere(node);
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
        + host.exec("ip", "-o", "neigh", "show", "nud", "permanent");
  }

  @Test
  void shouldFindNothingToRemoveWhereTheInterfaceIsGone() throws Exception {
    final Node node = open();
    addHere(node);
    veth.delete();
    assertEquals(List.of(), inHost(() -> node.routes().remove(route())));
  }

  @Test
  void shouldNeitherReplaceNorRemoveTheRouteOfSomebodyElse() throws Exception {
    final Node node = open();
    host.exec("ip", "route", "add", "10.1.0.9/32", "dev", "lo", "proto", "static");
    final Refusal refusal = assertThrows(Refusal.class, () -> addHere(node));
    assertEquals(Refusal.Kind.FAILED, refusal.kind());
    assertTrue(refusal.getMessage().contains("File exists"), refusal.getMessage());
    inHost(() -> node.routes().remove(route()));
    final String routes = host.exec("ip", "route", "show");
    assertTrue(routes.contains("10.1.0.9 dev lo proto static"), routes);
  }

  @Test
  void shouldRefuseAnInterfaceThatIsGone() throws Exception {
    final Node node = open();
    veth.delete();
    final Refusal refusal = assertThrows(Refusal.class, () -> addHere(node));
    assertTrue(refusal.getMessage().contains("Cannot find device"), refusal.getMessage());
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
}
