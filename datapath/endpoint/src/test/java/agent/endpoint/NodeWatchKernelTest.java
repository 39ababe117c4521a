package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Repairs;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.testkit.BestTime;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Other programs change the node. The comparisons are an hour apart, so that only events can cause
 * what these tests see.
 */
@KernelTest
class NodeWatchKernelTest {
  private static final List<String> HERE =
      List.of("203.0.113.9", "2001:db8:5::9", "2001:db8:7::9", "2001:db8:7::");

  private KernelRig agent;
  private Workload web;
  private Workload client;

  @BeforeEach
  void setUp() throws Exception {
    agent = new KernelRig(Duration.ofHours(1), true);
    web = agent.workload(11);
    client = agent.workload(12);
    agent.create(11, web, "app=web");
    agent.create(12, client, "app=client");
    agent.settle();
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  private String routes() {
    return agent.namespace().exec("ip", "route", "show", "proto", "169")
        + agent.namespace().exec("ip", "-6", "route", "show", "proto", "169")
        + agent.namespace().exec("ip", "-o", "neigh", "show", "nud", "permanent");
  }

  private String gateways() {
    return agent.namespace().exec("ip", "-o", "address", "show", "dev", "lo");
  }

  @Test
  void shouldAddGatewaysAgainWithTheRoutesThatTheKernelRemovedWithThem() {
    final String before = routes();
    agent
        .namespace()
        .ip("address del 10.1.0.1/32 dev lo", "address del f00d::a01:1:0:1/128 dev lo");
    assertNotEquals(before, routes());
    agent.await("routes", () -> routes().equals(before));
    final String addresses = agent.namespace().exec("ip", "-o", "address", "show", "dev", "lo");
    assertTrue(addresses.contains("10.1.0.1/32"), addresses);
    assertTrue(addresses.contains("f00d::a01:1:0:1/128"), addresses);
    assertEquals(2, agent.repaired(Repairs.Kind.ADDRESS));
    assertTrue(agent.repaired(Repairs.Kind.ROUTE) > 0);
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv4(), 2000));
  }

  @Test
  void shouldAddRoutesAgainThatAnotherProgramRemoved() {
    final String before = routes();
    agent.namespace().ip("route del " + web.ipv4() + "/32", "route del " + web.ipv6() + "/128");
    agent.await("routes", () -> routes().equals(before));
    assertEquals(2, agent.repaired(Repairs.Kind.ROUTE));
    agent.namespace().ip("route change " + web.ipv4() + "/32 dev lxcep12 proto 169");
    agent.await("routes", () -> routes().equals(before));
    agent.awaitOk(11);
  }

  @Test
  void shouldAddRoutesAndGatewaysAgainWithinASecond() throws Exception {
    final String before = routes() + gateways();
    for (final String removed :
        List.of(
            "route del " + web.ipv4() + "/32",
            "-6 route del " + web.ipv6() + "/128",
            "address del 10.1.0.1/32 dev lo",
            "address del f00d::a01:1:0:1/128 dev lo")) {
      BestTime.assertWithin(
          Duration.ofSeconds(1),
          removed,
          () -> {
            final long startNs = System.nanoTime();
            agent.namespace().ip(removed);
            agent.await("repair of " + removed, () -> (routes() + gateways()).equals(before));
            return Duration.ofNanos(System.nanoTime() - startNs);
          });
    }
  }

  @Test
  void shouldReportTheRouteOfAnotherProgramUntilItIsRemoved() {
    final String before = routes();
    agent.namespace().ip("route replace " + web.ipv4() + "/32 dev lo proto static");
    agent.awaitHealth(11, HealthLevel.FAILURE, "another route exists: of protocol 4 through 'lo'");
    assertFalse(agent.health(11).connected());
    assertTrue(agent.namespace().exec("ip", "route", "show").contains("dev lo proto static"));
    agent.namespace().ip("route del " + web.ipv4() + "/32 dev lo proto static");
    agent.awaitOk(11);
    assertEquals(before, routes());
  }

  @Test
  void shouldReportAnInterfaceThatIsDownAndAddItsRoutesAgainWhenItIsUp() {
    final String before = routes();
    agent.namespace().ip("link set lxcep11 down");
    agent.awaitHealth(11, HealthLevel.FAILURE, "interface 'lxcep11' is down");
    assertFalse(agent.health(11).connected());
    assertEquals("Failure", agent.get("11").log().getFirst().code());
    agent.settle();
    assertTrue(
        agent.namespace().exec("ip", "-o", "link", "show", "lxcep11").contains("state DOWN"));
    assertEquals(0, agent.repaired(Repairs.Kind.ROUTE));
    agent.namespace().ip("link set lxcep11 up");
    agent.await("routes", () -> routes().equals(before));
    agent.awaitOk(11);
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv6(), 2000));
    assertTrue(Ping.isAnswered(client.namespace(), web.ipv4(), 2000));
  }

  @Test
  void shouldReportTheGatewayDeviceThatIsDownAndKeepTheGatewaysWhenItIsUp() {
    final String before = routes();
    agent.namespace().ip("link set lo down");
    agent.await("lo", () -> agent.conductor.nodeFaults().read().message().contains("'lo' is down"));
    agent.namespace().ip("link set lo up");
    agent.await("routes", () -> routes().equals(before));
    agent.await(
        "lo",
        () ->
            agent
                    .conductor
                    .nodeFaults()
                    .read()
                    .message()
                    .equals("the node is configured as desired")
                && Ping.isAnswered(client.namespace(), "f00d::a01:1:0:1", 500));
  }

  @Test
  void shouldSetForwardingAgainThatAnotherProgramTurnedOff() throws Exception {
    setParameter("ipv4/ip_forward", "0");
    setParameter("ipv6/conf/all/forwarding", "0");
    agent.await(
        "forwarding",
        () ->
            parameter("ipv4/ip_forward").equals("1")
                && parameter("ipv6/conf/all/forwarding").equals("1"));
    assertEquals("1", parameter("ipv4/conf/lxcep11/forwarding"));
    assertEquals(2, agent.repaired(Repairs.Kind.SYSCTL));
  }

  private String parameter(String name) {
    return agent.namespace().exec("cat", "/proc/sys/net/" + name).strip();
  }

  private void setParameter(String name, String value) throws Exception {
    agent.namespace().run(() -> Files.writeString(Path.of("/proc/sys/net/" + name), value));
  }

  @Test
  void shouldWriteAddressesOfTheNodeToTheIpcacheAtOnce() {
    agent.namespace().ip("address add 192.0.2.77/24 dev lo");
    agent.await("ipcache", () -> isHost("192.0.2.77/32"));
    agent.namespace().ip("address del 192.0.2.77/24 dev lo");
    agent.await("ipcache", () -> !isHost("192.0.2.77/32"));
  }

  @Test
  void shouldNotLetTheWorldsEgressReachTheNodeByItsLocalRoutingTable() {
    agent
        .namespace()
        .ip(
            "link add first0 type veth peer name peer0",
            "link set first0 up",
            "link set peer0 up",
            "address add 2001:db8:7::9/64 nodad dev first0",
            "route add local 203.0.113.0/24 dev lo",
            "route add local 2001:db8:5::/64 dev lo");
    for (final String address : HERE) {
      agent.await(
          "no policy: " + address, () -> Ping.isAnswered(client.namespace(), address, 1000));
    }
    agent.importRules(TestRules.allowEgressTo("app=client", "world"));
    for (final String address : HERE) {
      assertFalse(Ping.isAnswered(client.namespace(), address, 300), address);
    }
    agent.namespace().ip("route add local 198.51.100.0/24 dev lo");
    agent.await("ipcache", () -> isHost("198.51.100.0/24"));
    assertFalse(Ping.isAnswered(client.namespace(), "198.51.100.7", 300));
    agent.namespace().ip("route del local 198.51.100.0/24 dev lo");
    agent.await("ipcache", () -> !isHost("198.51.100.0/24"));
    assertTrue(isHost("2001:db8:7::/128"), "the anycast address of the network's routers");
    agent.namespace().ip("-6 address del 2001:db8:7::9/64 dev first0");
    agent.await("ipcache", () -> !isHost("2001:db8:7::/128"));
  }

  private boolean isHost(String prefix) {
    return agent.now(agent.datapath().ipcache().read()).stream()
        .anyMatch(entry -> entry.prefix().toString().equals(prefix) && entry.isHost());
  }
}
