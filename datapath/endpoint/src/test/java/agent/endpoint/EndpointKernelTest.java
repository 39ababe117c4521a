package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointSnapshot;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.testkit.KernelTest;
import agent.testkit.Ping;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests endpoints and rules with packets in the kernel. */
@KernelTest
class EndpointKernelTest {
  private static final int PATIENCE_MS = 400;

  /** Before a SYN is sent again, which would hide that the first one was dropped. */
  private static final int CONNECTED_MS = 900;

  private static final int ANSWERED_MS = 5000;

  private KernelRig agent;
  private Workload web;
  private Workload client;
  private Workload other;

  @BeforeEach
  void setUp() throws Exception {
    agent = new KernelRig();
    web = agent.workload(11);
    client = agent.workload(12);
    other = agent.workload(13);
    agent.create(11, web, "app=web");
    agent.create(12, client, "app=client");
    agent.create(13, other, "app=other");
  }

  @AfterEach
  void tearDown() throws IOException {
    agent.close();
  }

  private static void assertOutcome(Outcome expected, Workload from, Workload to, int port) {
    final int withinMs = expected == Outcome.CONNECTED ? CONNECTED_MS : PATIENCE_MS;
    assertEquals(
        expected, TcpConnection.attempt(from.namespace(), to.ipv4(), port, withinMs), "IPv4");
    assertEquals(
        expected, TcpConnection.attempt(from.namespace(), to.ipv6(), port, withinMs), "IPv6");
  }

  private static void assertUdp(
      boolean expected, Workload from, Workload to, int port4, int port6) {
    final int withinMs = expected ? ANSWERED_MS : PATIENCE_MS;
    assertEquals(
        expected, UdpStream.isAnswered(from.namespace(), to.ipv4(), port4, withinMs), "IPv4");
    assertEquals(
        expected, UdpStream.isAnswered(from.namespace(), to.ipv6(), port6, withinMs), "IPv6");
  }

  @Test
  void shouldAdmitOnlySelectedSourcesOnTheListedPortsWhileTheRuleIsThere() throws Exception {
    try (TcpEchoServer http = TcpEchoServer.start(web.namespace(), 8080);
        TcpEchoServer admin = TcpEchoServer.start(web.namespace(), 9090);
        TcpEchoServer back = TcpEchoServer.start(client.namespace(), 7070)) {
      assertOutcome(Outcome.CONNECTED, client, web, 8080);
      assertOutcome(Outcome.CONNECTED, other, web, 8080);
      assertOutcome(Outcome.CONNECTED, client, web, 9090);

      agent.importRules(allowIngress("app=web", "app=client", 8080));
      assertOutcome(Outcome.CONNECTED, client, web, 8080);
      assertOutcome(Outcome.UNANSWERED, client, web, 9090);
      assertOutcome(Outcome.UNANSWERED, other, web, 8080);
      assertOutcome(Outcome.CONNECTED, web, client, 7070);

      agent.deleteRules();
      assertOutcome(Outcome.CONNECTED, other, web, 8080);
      assertOutcome(Outcome.CONNECTED, client, web, 9090);
      for (int i = 0; i < 1000 && accepted(http, admin, back) < 12; i++) {
        Thread.sleep(10); // a server accepts after its client is connected
      }
      assertTrue(accepted(http, admin, back) >= 12);
    }
  }

  private static long accepted(TcpEchoServer... servers) {
    return Stream.of(servers).mapToLong(TcpEchoServer::connections).sum();
  }

  @Test
  void shouldForwardOnlyEgressThatARuleAllows() throws Exception {
    try (UdpEchoServer web4 = UdpEchoServer.start(web.namespace(), web.ipv4(), 5300);
        UdpEchoServer web6 = UdpEchoServer.start(web.namespace(), web.ipv6(), 5301);
        UdpEchoServer other4 = UdpEchoServer.start(other.namespace(), other.ipv4(), 5300);
        UdpEchoServer other6 = UdpEchoServer.start(other.namespace(), other.ipv6(), 5301)) {
      assertUdp(true, client, web, 5300, 5301);
      assertUdp(true, client, other, 5300, 5301);

      agent.importRules(allowEgressUdp("app=client", "app=web", 5300, 5301));
      assertUdp(true, client, web, 5300, 5301);
      assertUdp(false, client, other, 5300, 5301);

      agent.deleteRules();
      assertUdp(true, client, other, 5300, 5301);
      assertTrue(web4.datagrams() + web6.datagrams() + other4.datagrams() > 4);
      assertTrue(other6.datagrams() > 0);
    }
  }

  private static RuleSpec allowEgressUdp(String from, String to, int... ports) {
    return allowEgress(from, to, "UDP", ports);
  }

  static RuleSpec allowEgressTcp(String from, String to, int... ports) {
    return allowEgress(from, to, "TCP", ports);
  }

  private static RuleSpec allowEgress(String from, String to, String protocol, int... ports) {
    final List<PortSpec> specs =
        java.util.Arrays.stream(ports)
            .mapToObj(port -> new PortSpec(Integer.toString(port), null, protocol))
            .toList();
    final PeerRuleSpec peer =
        new PeerRuleSpec(
            List.of(selector(to)),
            null,
            null,
            null,
            null,
            List.of(new PortRuleSpec(specs, null)),
            null,
            null,
            null,
            null);
    return new RuleSpec(selector(from), null, List.of(peer), null, null, null, null);
  }

  private static SelectorSpec selector(String label) {
    final String[] parts = label.split("=");
    return new SelectorSpec(Map.of(parts[0], parts[1]), null);
  }

  @Test
  void shouldDropAnEstablishedConnectionThatNewLabelsForbid() throws Exception {
    agent.importRules(allowIngress("app=web", "role=friend", 8080));
    try (TcpEchoServer http = TcpEchoServer.start(web.namespace(), 8080)) {
      assertOutcome(Outcome.UNANSWERED, client, web, 8080);
      agent.relabel(12, "role=friend");
      assertOutcome(Outcome.CONNECTED, client, web, 8080);
      try (TcpConnection connection = TcpConnection.open(client.namespace(), web.ipv4(), 8080)) {
        assertTrue(connection.exchangesMore(20, 5000));
        agent.relabel(12);
        assertTrue(connection.isCutFor(300));
      }
      assertTrue(http.connections() >= 3);
    }
  }

  @Test
  void shouldKeepAnEstablishedConnectionThatNewLabelsAllow() throws Exception {
    try (UdpEchoServer server = UdpEchoServer.start(web.namespace(), web.ipv4(), 5400);
        UdpStream stream = UdpStream.start(client.namespace(), web.ipv4(), 5400, 1)) {
      for (int i = 0; i < 10 || stream.sent() < 200; i++) {
        agent.relabel(12, "version=" + i);
        agent.importRules(allowAllIngress("app=web"));
        agent.deleteRules();
      }
      assertEquals(0, stream.stopAndCountLost());
      assertTrue(stream.sent() >= 200 && server.datagrams() >= 200);
    }
  }

  private static RuleSpec allowAllIngress(String to) {
    return new RuleSpec(selector(to), List.of(PeerRuleSpec.ALL), null, null, null, null, null);
  }

  @Test
  void shouldLoseNoPacketWhenTheAgentIsStartedAgain() throws Exception {
    agent.importRules(allowIngress("app=web", "app=client", 8080));
    final List<EndpointSnapshot> before = agent.conductor.endpoints().list(List.of());
    final List<String> pins = agent.pins();
    try (TcpEchoServer http = TcpEchoServer.start(web.namespace(), 8080);
        UdpEchoServer echo = UdpEchoServer.start(other.namespace(), other.ipv6(), 5400);
        TcpConnection connection = TcpConnection.open(client.namespace(), web.ipv4(), 8080);
        UdpStream stream = UdpStream.start(client.namespace(), other.ipv6(), 5400, 1)) {
      assertTrue(connection.exchangesMore(20, 5000));
      agent.stop();
      assertTrue(connection.exchangesMore(20, 5000));
      assertOutcome(Outcome.UNANSWERED, other, web, 8080);
      agent.start();
      assertEquals(
          new RestoreReport(List.of(11, 12, 13), List.of(), List.of(), List.of()), agent.report);
      assertTrue(connection.exchangesMore(20, 5000));
      assertOutcome(Outcome.CONNECTED, client, web, 8080);
      assertOutcome(Outcome.UNANSWERED, other, web, 8080);
      assertEquals(0, stream.stopAndCountLost());
      assertTrue(stream.sent() > 100 && echo.datagrams() > 100 && http.connections() > 1);
    }
    assertEquals(pins, agent.pins());
    final List<EndpointSnapshot> after = agent.conductor.endpoints().list(List.of());
    for (int i = 0; i < before.size(); i++) {
      assertEquals(before.get(i).identity(), after.get(i).identity());
      assertEquals(before.get(i).networking(), after.get(i).networking());
    }
  }

  @Test
  void shouldDisconnectAWorkloadThatIsDeletedAndLeaveNothing() throws Exception {
    assertTrue(Ping.isAnswered(client.namespace(), other.ipv4(), 2000));
    final int leases = agent.leases().size();
    final String routes = routes();
    final Workload late = agent.workload(14);
    agent.create(14, late, "app=late");
    assertTrue(Ping.isAnswered(agent.namespace(), late.ipv4(), 2000));
    assertTrue(Ping.isAnswered(agent.namespace(), late.ipv6(), 2000));
    agent.delete(14);
    final List<String> pins = agent.pins();
    for (int i = 0; i < 10; i++) {
      agent.create(14, late, "app=late");
      assertTrue(Ping.isAnswered(late.namespace(), client.ipv6(), 2000));
      assertEquals(List.of(), agent.delete(14));
    }
    assertTrue(!Ping.isAnswered(late.namespace(), client.ipv4(), PATIENCE_MS));
    assertEquals(pins, agent.pins());
    assertEquals(leases, agent.leases().size());
    assertEquals(routes, routes());
    assertEquals(3, agent.datapath().status().endpoints());
  }

  private String routes() {
    return agent.namespace().exec("ip", "route", "show", "proto", "169")
        + agent.namespace().exec("ip", "-6", "route", "show", "proto", "169")
        + agent.namespace().exec("ip", "-o", "neigh", "show", "nud", "permanent");
  }
}
