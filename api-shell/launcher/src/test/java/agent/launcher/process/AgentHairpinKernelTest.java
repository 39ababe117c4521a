package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Workloads whose service has themselves or a host outside as its backend, on real traffic of
 * sockets that no program translates, in both families.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentHairpinKernelTest {
  private static final List<String> FRONTENDS = List.of("10.96.0.1", "fd96::1");
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int LARGE = 8000;
  private static final int TIMEOUT_MS = 5000;
  private static final int MANY_MS = 30_000;

  private TestNode node;
  private TestControlGroup group;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    group = TestControlGroup.create();
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
    group.close();
  }

  private AgentProcess start(String... options) throws Exception {
    return node.agent(
        Stream.concat(Stream.of("--cgroup-root", group.path().toString()), Stream.of(options))
            .toArray(String[]::new));
  }

  private static void back(AgentProcess agent, List<String> backends) throws IOException {
    for (int i = 0; i < FRONTENDS.size(); i++) {
      agent.expect(
          201,
          "PUT",
          "/service/" + (i + 1),
          """
          {"frontend-address": {"ip": "%s", "port": %d},
           "backend-addresses": [{"ip": "%s", "port": %d}]}
          """
              .formatted(FRONTENDS.get(i), PORT, backends.get(i), SERVED));
    }
  }

  private void serve(NetworkNamespace namespace, List<String> addresses) throws IOException {
    node.keep(TcpEchoServer.start(namespace, SERVED));
    for (final String address : addresses) {
      node.keep(UdpEchoServer.start(namespace, address, SERVED));
    }
  }

  /** Its policy allows it nothing, and does not judge what it sends to itself. */
  @ParameterizedTest
  @ValueSource(strings = {"bpf", "legacy"})
  void shouldConnectAWorkloadToItselfByItsService(String routing) throws Exception {
    final AgentProcess agent = start("--host-routing", routing);
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final List<String> addresses = List.of(alice.ipv4(), alice.ipv6());
    serve(alice.namespace(), addresses);
    back(agent, addresses);
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "alice"}},
          "ingress": [{"fromEntities": ["all"]}],
          "egress": [{"toEntities": ["all"]}]}]
        """);
    passes(alice.namespace(), () -> start("--host-routing", routing), agent);
  }

  /** The backend knows no route to the workload, so that it answers the address of the node. */
  @Test
  void shouldReachABackendOutsideByTheAddressOfTheNode() throws Exception {
    final NetworkNamespace world = WorldNetwork.connect(node);
    final AgentProcess agent = start("--device", WorldNetwork.DEVICE);
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    serve(world, WorldNetwork.ADDRESSES);
    back(agent, WorldNetwork.ADDRESSES);
    passes(alice.namespace(), () -> start("--device", WorldNetwork.DEVICE), agent);
  }

  private interface Starter {
    AgentProcess start() throws Exception;
  }

  /** Connections go on, and new ones are opened, while the agent is killed and starts again. */
  private static void passes(NetworkNamespace client, Starter starter, AgentProcess agent)
      throws Exception {
    for (final String frontend : FRONTENDS) {
      assertTrue(UdpStream.isAnswered(client, frontend, PORT, TIMEOUT_MS), frontend);
      assertTrue(UdpStream.isAnswered(client, frontend, PORT, LARGE, TIMEOUT_MS), frontend);
    }
    try (TcpConnection ipv4 = TcpConnection.open(client, FRONTENDS.get(0), PORT);
        TcpConnection ipv6 = TcpConnection.open(client, FRONTENDS.get(1), PORT)) {
      assertTrue(ipv4.exchangesMore(500, MANY_MS), "IPv4\n" + agent.log());
      assertTrue(ipv6.exchangesMore(500, MANY_MS), "IPv6\n" + agent.log());
      agent.kill();
      assertTrue(ipv4.exchangesMore(20, TIMEOUT_MS), "without the agent");
      assertTrue(ipv6.exchangesMore(20, TIMEOUT_MS), "without the agent");
      for (final String frontend : FRONTENDS) {
        assertEquals(
            Outcome.CONNECTED, TcpConnection.attempt(client, frontend, PORT, TIMEOUT_MS), frontend);
      }
      starter.start();
      assertTrue(ipv4.exchangesMore(20, TIMEOUT_MS), "with the next agent");
      assertTrue(ipv6.exchangesMore(20, TIMEOUT_MS), "with the next agent");
    }
  }
}
