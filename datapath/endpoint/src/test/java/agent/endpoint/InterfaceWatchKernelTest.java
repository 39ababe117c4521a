package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.EndpointAttachmentProxy;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointSnapshot;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Other programs remove, replace, rename and move the interfaces of endpoints. The comparisons are
 * an hour apart, so that only events can cause what these tests see.
 */
@KernelTest
class InterfaceWatchKernelTest {
  private static final int PATIENCE_MS = 400;
  private static final String DEVICE = "lxcep11";

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

  /** Adds a device with the removed one's index, and the workload's addresses behind it. */
  private void addOther(String name, int index, NetworkNamespace other) {
    agent
        .namespace()
        .ip(
            "link add %s index %d type veth peer name eth0 netns %s"
                .formatted(name, index, other.path()));
    agent.namespace().ip("link set " + name + " addrgenmode none", "link set " + name + " up");
    address(other);
  }

  private void address(NetworkNamespace namespace) {
    namespace.ip(
        "link set eth0 up",
        "address add " + web.ipv4() + "/32 dev eth0",
        "route add 10.1.0.1/32 dev eth0",
        "route add default via 10.1.0.1",
        "address add " + web.ipv6() + "/128 dev eth0 nodad",
        "route add f00d::a01:1:0:1/128 dev eth0",
        "route add default via f00d::a01:1:0:1");
  }

  private static void awaitSent(UdpStream stream, int more) {
    final long wanted = stream.sent() + more;
    final long deadlineNs = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (stream.sent() < wanted && System.nanoTime() < deadlineNs) {
      pause();
    }
    assertTrue(stream.sent() >= wanted);
  }

  private static void pause() {
    LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
  }

  @Test
  void shouldDeliverNoPacketToAnotherDeviceWithTheIndexOfTheRemovedOne() throws Exception {
    try (NetworkNamespace other = NetworkNamespace.create("other");
        UdpStream stream4 = UdpStream.start(client.namespace(), web.ipv4(), 5400, 2);
        UdpStream stream6 = UdpStream.start(client.namespace(), web.ipv6(), 5401, 2)) {
      try (UdpEchoServer echo4 = UdpEchoServer.start(web.namespace(), web.ipv4(), 5400);
          UdpEchoServer echo6 = UdpEchoServer.start(web.namespace(), web.ipv6(), 5401)) {
        agent.await("answers", () -> stream4.received() > 20 && stream6.received() > 20);
        assertTrue(echo4.datagrams() > 20 && echo6.datagrams() > 20);
      }
      agent.namespace().ip("link delete " + DEVICE);
      addOther("another0", web.veth().hostIfindex(), other);
      try (UdpEchoServer stolen4 = UdpEchoServer.start(other, web.ipv4(), 5400);
          UdpEchoServer stolen6 = UdpEchoServer.start(other, web.ipv6(), 5401)) {
        // Before the conductor runs, the packets of both flows reach the other device.
        final long deadlineNs = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while ((stolen4.datagrams() == 0 || stolen6.datagrams() == 0)
            && System.nanoTime() < deadlineNs) {
          pause();
        }
        assertTrue(stolen4.datagrams() > 0 && stolen6.datagrams() > 0);
        agent.awaitHealth(11, HealthLevel.FAILURE, "interface 'lxcep11' is gone");
        agent.await("empty entry", () -> entryIndex() == 0);
        awaitSent(stream4, 20);
        awaitSent(stream6, 20);
        final List<Long> before = List.of(stolen4.datagrams(), stolen6.datagrams());
        awaitSent(stream4, 100);
        awaitSent(stream6, 100);
        assertEquals(before, List.of(stolen4.datagrams(), stolen6.datagrams()));
        assertFalse(UdpStream.isAnswered(client.namespace(), web.ipv4(), 5400, PATIENCE_MS));
        assertFalse(agent.namespace().exec("ip", "route", "show").contains(web.ipv4()));
        assertEquals(before, List.of(stolen4.datagrams(), stolen6.datagrams()));
      }
      assertFalse(agent.health(11).connected());
      assertEquals(HealthLevel.OK, agent.health(12).overall());
      assertEquals(List.of(), agent.delete(11));
      assertTrue(
          agent.namespace().exec("ip", "-o", "link", "show", "another0").contains("state UP"));
    }
  }

  private int entryIndex() {
    return agent.now(agent.datapath().endpoints().entryOf(11)).ifindex();
  }

  @Test
  void shouldTakeANewDeviceOfTheSameAttachment() throws Exception {
    agent.importRules(allowIngress("app=web", "app=nobody", 8080));
    agent.namespace().ip("link delete " + DEVICE);
    agent.awaitHealth(11, HealthLevel.FAILURE, "is gone");
    addSame(web.veth().hostMac(), web.veth().workloadMac());
    agent.awaitOk(11);
    final EndpointSnapshot after = agent.get("11");
    assertNotEquals(web.veth().hostIfindex(), after.networking().interfaceIndex());
    assertEquals(after.networking().interfaceIndex(), entryIndex());
    try (TcpEchoServer http = TcpEchoServer.start(web.namespace(), 8080)) {
      assertEquals(Outcome.UNANSWERED, connect());
      agent.deleteRules();
      assertEquals(Outcome.CONNECTED, connect());
      agent.await("connection", () -> http.connections() > 0);
    }
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv4(), 2000));
    agent.stop();
    agent.start();
    agent.settle();
    agent.awaitOk(11);
  }

  private Outcome connect() {
    return TcpConnection.attempt(client.namespace(), web.ipv4(), 8080, PATIENCE_MS);
  }

  private void addSame(String hostMac, String workloadMac) {
    agent
        .namespace()
        .ip(
            "link add %s address %s type veth peer name eth0 address %s netns %s"
                .formatted(DEVICE, hostMac, workloadMac, web.namespace().path()));
    agent.namespace().ip("link set " + DEVICE + " addrgenmode none", "link set " + DEVICE + " up");
    address(web.namespace());
  }

  /** Index, name and addresses are the same: only the event of the removal shows the difference. */
  @Test
  void shouldAttachToADeviceThatReplacedAnotherWithTheSameIndexNameAndAddresses() {
    final int index = web.veth().hostIfindex();
    assertEquals(index, agent.linkIndex(11, "from_endpoint"));
    agent.namespace().ip("link delete " + DEVICE);
    assertEquals(0, agent.linkIndex(11, "from_endpoint"));
    agent
        .namespace()
        .ip(
            "link add %s index %d address %s type veth peer name eth0 address %s netns %s"
                .formatted(
                    DEVICE,
                    index,
                    web.veth().hostMac(),
                    web.veth().workloadMac(),
                    web.namespace().path()));
    agent.namespace().ip("link set " + DEVICE + " addrgenmode none up");
    address(web.namespace());
    agent.await("link", () -> agent.linkIndex(11, "from_endpoint") == index);
    agent.await("link", () -> agent.linkIndex(11, "to_endpoint") == index);
    agent.awaitOk(11);
    assertTrue(Ping.isAnswered(client.namespace(), web.ipv4(), 2000));
  }

  @Test
  void shouldTakeNoDeviceWithAnotherAddressUntilARequestNamesIt() throws Exception {
    agent.namespace().ip("link delete " + DEVICE);
    agent
        .namespace()
        .ip(
            "link add %s index %d address 02:00:00:00:00:77 type veth peer name eth0 address %s netns %s"
                .formatted(
                    DEVICE,
                    web.veth().hostIfindex(),
                    web.veth().workloadMac(),
                    web.namespace().path()));
    agent.namespace().ip("link set " + DEVICE + " addrgenmode none up");
    address(web.namespace());
    agent.awaitHealth(
        11, HealthLevel.FAILURE, "interface 'lxcep11' has MAC address 02:00:00:00:00:77, not");
    agent.await("empty entry", () -> entryIndex() == 0);
    agent.settle();
    assertEquals(HealthLevel.FAILURE, agent.health(11).overall());
    assertFalse(UdpStream.isAnswered(client.namespace(), web.ipv4(), 5400, PATIENCE_MS));
    agent.namespace().ip("link delete " + DEVICE);
    agent.awaitHealth(11, HealthLevel.FAILURE, "is gone");
    addSame(web.veth().hostMac(), "02:00:00:00:00:78");
    agent.settle();
    agent.awaitHealth(11, HealthLevel.FAILURE, "has index");
    agent.modify(
        "11",
        Requests.request().state("ready").onInterface(DEVICE).mac("02:00:00:00:00:78").sync());
    agent.awaitOk(11);
    try (UdpEchoServer echo = UdpEchoServer.start(web.namespace(), web.ipv4(), 5400)) {
      assertTrue(UdpStream.isAnswered(client.namespace(), web.ipv4(), 5400, 5000));
      agent.await("datagram", () -> echo.datagrams() > 0);
    }
  }

  private String hostMac() {
    return agent.get("11").networking().hostMac().toString();
  }

  private void assertReachableBothWays(long withinMs) {
    for (final String gateway : List.of("10.1.0.1", "f00d::a01:1:0:1")) {
      assertAnswered(web.namespace(), gateway, withinMs);
    }
    for (final String address : List.of(web.ipv4(), web.ipv6())) {
      assertAnswered(agent.namespace(), address, withinMs);
      assertAnswered(client.namespace(), address, withinMs);
    }
  }

  /** The conductor runs between the requests: it sends what tells the workload of the gateway. */
  private void assertAnswered(NetworkNamespace from, String address, long withinMs) {
    final long deadlineNs = System.nanoTime() + Duration.ofMillis(withinMs).toNanos();
    while (!Ping.isAnswered(from, address, 200)) {
      assertTrue(System.nanoTime() - deadlineNs < 0, address + " does not answer");
      agent.inNamespace(agent::run);
    }
  }

  @Test
  void shouldFollowAHostSideWithAnotherAddress() {
    assertReachableBothWays(2000); // the workload knows the former address of its gateway
    agent.namespace().ip("link set " + DEVICE + " address 02:00:00:00:00:77");
    assertReachableBothWays(3000); // the stack finds it by itself after more than five seconds
    agent.await("address", () -> hostMac().equals("02:00:00:00:00:77"));
    agent.awaitOk(11);
    assertEquals("02:00:00:00:00:77", agent.now(entry()).hostMac().toString());
    assertEquals("02:00:00:00:00:77", agent.storedDevice(11).hostMac().toString());
    assertTrue(
        agent.get("11").log().stream().noneMatch(entry -> entry.message().contains("closed")));
    assertEquals(HealthLevel.OK, agent.health(12).overall());
    assertEquals(List.of(), agent.delete(11));
    assertFalse(
        agent.namespace().exec("ip", "-o", "link", "show", DEVICE).contains("state UP"),
        "its interface is set down");
  }

  private CompletableFuture<EndpointAttachmentProxy.KernelEntry> entry() {
    return agent.datapath().endpoints().entryOf(11);
  }

  @Test
  void shouldKnowAHostSideWithAnotherNameAndAddressAtTheNextStart() {
    assertReachableBothWays(2000);
    final int leases = agent.leases().size();
    agent.stop();
    agent
        .namespace()
        .ip(
            "link set " + DEVICE + " down",
            "link set " + DEVICE + " name renamed0 address 02:00:00:00:00:77",
            "link set renamed0 up");
    agent.start();
    assertEquals(List.of(), agent.report.removed());
    assertEquals(leases, agent.leases().size());
    assertEquals("02:00:00:00:00:77", hostMac());
    assertEquals("renamed0", agent.storedDevice(11).name());
    agent.awaitOk(11);
    assertReachableBothWays(3000); // the stack finds it by itself after more than five seconds
  }

  /** Without its link nothing tells whether the interface is the workload's. */
  @Test
  void shouldKeepAnEndpointClosedWithItsLeasesWhoseInterfaceIsInDoubtAtTheNextStart() {
    final int leases = agent.leases().size();
    agent.stop();
    agent.detach(11);
    agent.namespace().ip("link set " + DEVICE + " address 02:00:00:00:00:77");
    agent.start();
    assertEquals(List.of(), agent.report.removed());
    assertEquals(leases, agent.leases().size());
    agent.awaitHealth(
        11, HealthLevel.FAILURE, "interface 'lxcep11' has MAC address 02:00:00:00:00:77, not");
    agent.await("empty entry", () -> entryIndex() == 0);
    assertFalse(Ping.isAnswered(client.namespace(), web.ipv4(), PATIENCE_MS));
    agent.modify("11", Requests.request().state("ready").onInterface(DEVICE).sync());
    agent.awaitOk(11);
    assertReachableBothWays(3000); // the stack finds it by itself after more than five seconds
  }

  @Test
  void shouldFollowAWorkloadWithAnotherAddress() throws Exception {
    agent.close();
    agent = new KernelRig(Duration.ofMillis(500), true);
    web = agent.workload(11);
    client = agent.workload(12);
    agent.create(11, web, "app=web");
    agent.create(12, client, "app=client");
    agent.awaitOk(11);
    assertReachableBothWays(2000);
    web.namespace().ip("link set eth0 address 02:00:00:00:00:79");
    agent.await("address", () -> agent.get("11").networking().mac().toString().endsWith(":79"));
    agent.awaitOk(11);
    assertReachableBothWays(3000); // the stack finds it by itself after more than five seconds
    assertTrue(agent.storedDevice(11).mac().toString().endsWith(":79"));
  }

  @Test
  void shouldFollowARenamedInterface() {
    agent
        .namespace()
        .ip(
            "link set " + DEVICE + " down",
            "link set " + DEVICE + " name renamed0",
            "link set renamed0 up");
    agent.await("name", () -> agent.get("11").networking().interfaceName().equals("renamed0"));
    agent.awaitOk(11);
    assertEquals("renamed0", agent.storedDevice(11).name());
    agent.relabel(11, "app=other");
    agent.awaitOk(11);
    assertTrue(Ping.isAnswered(agent.namespace(), web.ipv4(), 2000));
    assertTrue(Ping.isAnswered(client.namespace(), web.ipv6(), 2000));
    assertEquals(List.of(), agent.delete(11));
    assertFalse(
        agent.namespace().exec("ip", "-o", "link", "show", "renamed0").contains("state UP"));
  }

  @Test
  void shouldReportAWorkloadSideThatIsDownOrMovedOrGone() throws Exception {
    web.namespace().ip("link set eth0 down");
    agent.awaitHealth(
        11, HealthLevel.WARNING, "the workload's side of interface 'lxcep11' is down");
    assertFalse(agent.health(11).connected());
    web.namespace().ip("link set eth0 up");
    web.namespace().ip("address flush dev eth0"); // the kernel has removed routes and IPv6
    address(web.namespace());
    agent.awaitOk(11);
    try (NetworkNamespace other = NetworkNamespace.create("other")) {
      web.namespace().ip("link set eth0 netns " + other.path());
      agent.awaitHealth(11, HealthLevel.FAILURE, "moved to another network namespace");
    }
    agent.awaitHealth(11, HealthLevel.FAILURE, "is gone");
  }
}
