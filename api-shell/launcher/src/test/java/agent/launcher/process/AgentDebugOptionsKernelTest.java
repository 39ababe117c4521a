package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.contract.monitor.MonitorStream;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * What an operator sees of an endpoint with {@code Debug}, {@code DebugLB}, {@code DebugPolicy}.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentDebugOptionsKernelTest {
  private static final int FRONTEND = 80;
  private static final int SERVED = 8080;
  private static final int EXCHANGES = 20;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration QUIET = Duration.ofMillis(500);

  private TestNode node;
  private TestControlGroup group;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    group = TestControlGroup.create();
    agent = node.agent("--cgroup-root", group.path().toString());
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), SERVED));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
    group.close();
  }

  private void set(TestWorkload workload, String options) throws Exception {
    agent.expect(
        200, "PATCH", "/endpoint/" + workload.id() + "/config", "{\"options\":{" + options + "}}");
  }

  private void talk(String address, int port) throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), address, port)) {
      for (int i = 0; i < EXCHANGES; i++) {
        assertTrue(open.exchangesMore(1, 5000));
      }
    }
  }

  private int traces(MonitorClient events) throws Exception {
    int count = 0;
    for (MonitorEvent event = events.next(QUIET); event != null; event = events.next(QUIET)) {
      count += ((MonitorEvent.Packet) event).endpoint() == client.id() ? 1 : 0;
    }
    return count;
  }

  @Test
  void shouldTraceEachPacketOfAnEndpointThatIsDebuggedWhateverItsOtherOptionsSay()
      throws Exception {
    set(client, "\"TraceNotification\":\"Disabled\",\"MonitorAggregationLevel\":\"Maximum\"");
    final Path socket = Path.of(MonitorStream.socketBeside(agent.socket().toString()));
    try (MonitorClient events = MonitorClient.open(socket, MonitorStream.TRACES, LIMIT)) {
      talk(server.ipv4(), SERVED);
      assertEquals(0, traces(events));
      set(client, "\"Debug\":\"Enabled\"");
      talk(server.ipv4(), SERVED);
      final int traced = traces(events);
      assertTrue(traced > EXCHANGES, traced + " packets");
      set(client, "\"Debug\":\"Disabled\"");
      talk(server.ipv4(), SERVED);
      assertEquals(0, traces(events));
    }
  }

  @Test
  void shouldLogWhyOneEndpointHasItsPolicy() throws Exception {
    final String line = "policy trace: endpoint " + client.id() + ": ";
    assertFalse(agent.log().contains("policy trace: "), agent.log());
    set(client, "\"DebugPolicy\":\"Enabled\"");
    assertTrue(agent.log().contains(line + "INGRESS: not enforced"), agent.log());
    assertFalse(agent.log().contains("policy trace: endpoint " + server.id()), agent.log());
  }

  /** This process is outside the control group, so that packets are translated, and no sockets. */
  @Test
  void shouldLogTheBackendsOfTheFlowsOfOneEndpoint() throws Exception {
    agent.expect(
        201,
        "PUT",
        "/service/7",
        """
        {"frontend-address": {"ip": "10.96.0.1", "port": %d, "protocol": "TCP"},
         "backend-addresses": [{"ip": "%s", "port": %d, "protocol": "TCP"}]}"""
            .formatted(FRONTEND, server.ipv4(), SERVED));
    final String start = "balancing trace: endpoint " + client.id() + ": service 7, protocol 6, ";
    final String line =
        " by 10.96.0.1 port " + FRONTEND + " to " + server.ipv4() + " port " + SERVED;
    talk("10.96.0.1", FRONTEND);
    set(client, "\"DebugLB\":\"Enabled\"");
    talk("10.96.0.1", FRONTEND);
    assertEquals(1, traced(start, line));
    set(client, "\"DebugLB\":\"Disabled\"");
    talk("10.96.0.1", FRONTEND);
    assertEquals(1, traced(start, line), agent.log());
  }

  /** Returns how many lines there are after a time in which an event is read. */
  private long traced(String start, String end) throws Exception {
    Thread.sleep(QUIET);
    return agent.log().lines().filter(l -> l.contains(start) && l.endsWith(end)).count();
  }
}
