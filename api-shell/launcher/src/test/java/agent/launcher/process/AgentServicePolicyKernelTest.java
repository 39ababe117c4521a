package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** {@code toServices} on real traffic to backends outside, in both families. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentServicePolicyKernelTest {
  private static final List<String> FRONTENDS = List.of("10.96.0.1", "fd96::1");
  private static final List<String> OTHERS = List.of("192.0.2.3", "2001:db8:2::3");
  private static final int SERVED = 8080;
  private static final int PORT = 80;
  private static final int DENIED_MS = 400;
  private static final int ALLOWED_MS = 10_000;

  private TestNode node;
  private TestControlGroup group;
  private NetworkNamespace world;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    group = TestControlGroup.enter();
    world = WorldNetwork.connect(node);
    world.ip("address add " + OTHERS.get(0) + "/24 dev eth0");
    world.ip("-6 address add " + OTHERS.get(1) + "/64 dev eth0 nodad");
    node.keep(TcpEchoServer.start(world, SERVED));
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
    group.close();
  }

  private AgentProcess start() throws Exception {
    return node.agent("--cgroup-root", group.path().toString(), "--device", WorldNetwork.DEVICE);
  }

  /** Sets for the services of both families the name {@code shop/cart} and these backends. */
  private static void back(AgentProcess agent, int status, List<String> backends)
      throws IOException {
    for (int i = 0; i < FRONTENDS.size(); i++) {
      agent.expect(
          status,
          "PUT",
          "/service/" + (i + 1),
          """
          {"frontend-address": {"ip": "%s", "port": 80},
           "backend-addresses": [{"ip": "%s", "port": 8080}],
           "flags": {"name": "cart", "namespace": "shop"}}
          """
              .formatted(FRONTENDS.get(i), backends.get(i)));
    }
  }

  private static String policy(String namespace) {
    return """
    [{"endpointSelector": {"matchLabels": {"app": "alice"}},
      "egress": [{"toServices": [{"k8sService": {"serviceName": "cart", "namespace": "%s"}}],
        "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}]
    """
        .formatted(namespace);
  }

  private static Outcome attempt(TestWorkload client, String address, int port, boolean isReached) {
    return TcpConnection.attempt(
        client.namespace(), address, port, isReached ? ALLOWED_MS : DENIED_MS);
  }

  private static void assertReached(
      boolean isReached, TestWorkload client, List<String> addresses, int port, AgentProcess agent)
      throws IOException {
    for (final String address : addresses) {
      assertEquals(
          isReached,
          attempt(client, address, port, isReached) == Outcome.CONNECTED,
          address + " port " + port + "\n" + agent.log());
    }
  }

  @Test
  void shouldReachTheBackendsThatTheServiceHasNow() throws Exception {
    AgentProcess agent = start();
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    back(agent, 201, WorldNetwork.ADDRESSES);
    agent.expect(200, "PUT", "/policy", policy("shop"));
    assertReached(true, alice, FRONTENDS, PORT, agent);
    assertReached(true, alice, WorldNetwork.ADDRESSES, SERVED, agent);
    assertReached(false, alice, OTHERS, SERVED, agent);

    back(agent, 200, OTHERS);
    assertReached(true, alice, FRONTENDS, PORT, agent);
    assertReached(true, alice, OTHERS, SERVED, agent);
    assertReached(false, alice, WorldNetwork.ADDRESSES, SERVED, agent);

    agent.kill();
    assertReached(true, alice, OTHERS, SERVED, agent);
    agent = start();
    assertReached(true, alice, FRONTENDS, PORT, agent);
    assertReached(true, alice, OTHERS, SERVED, agent);
    assertReached(false, alice, WorldNetwork.ADDRESSES, SERVED, agent);

    agent.expect(200, "DELETE", "/service/1", null);
    agent.expect(200, "DELETE", "/service/2", null);
    assertReached(false, alice, OTHERS, SERVED, agent);
    back(agent, 201, WorldNetwork.ADDRESSES);
    assertReached(true, alice, FRONTENDS, PORT, agent);
    assertReached(true, alice, WorldNetwork.ADDRESSES, SERVED, agent);
  }

  /** Flows that run are judged again, as after a change of the rules. */
  @Test
  void shouldEndTheFlowsToABackendThatTheServiceHasNoLonger() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    back(agent, 201, WorldNetwork.ADDRESSES);
    agent.expect(200, "PUT", "/policy", policy("shop"));
    for (final String address : WorldNetwork.ADDRESSES) {
      try (TcpConnection running = TcpConnection.open(alice.namespace(), address, SERVED)) {
        assertTrue(running.exchangesMore(10, 5000), address);
        back(agent, 200, OTHERS);
        assertFalse(running.exchangesMore(1, 1000), address);
        back(agent, 200, WorldNetwork.ADDRESSES);
        assertTrue(running.exchangesMore(10, 10_000), address + "\n" + agent.log());
      }
    }
  }

  @Test
  void shouldDenyTheBackendsAndNothingElse() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    back(agent, 201, WorldNetwork.ADDRESSES);
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "alice"}}, "egress": [{"toEntities": ["all"]}],
          "egressDeny": [{"toServices": [{"k8sService": {"serviceName": "cart",
            "namespace": "shop"}}]}]}]
        """);
    assertReached(false, alice, FRONTENDS, PORT, agent);
    assertReached(true, alice, OTHERS, SERVED, agent);
    back(agent, 200, OTHERS);
    assertReached(true, alice, WorldNetwork.ADDRESSES, SERVED, agent);
    assertReached(false, alice, FRONTENDS, PORT, agent);
  }

  /** The address of an endpoint means nothing to rules: its labels do. */
  @Test
  void shouldNotOpenEndpointsAndServicesOfOtherNames() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final TestWorkload bob = node.workload(agent, "bob", "app=bob");
    node.keep(TcpEchoServer.start(bob.namespace(), SERVED));
    final List<String> bobs = List.of(bob.ipv4(), bob.ipv6());
    back(agent, 201, bobs);
    assertReached(true, alice, FRONTENDS, PORT, agent);
    agent.expect(200, "PUT", "/policy", policy("shop"));
    assertReached(false, alice, FRONTENDS, PORT, agent);
    assertReached(false, alice, bobs, SERVED, agent);
    back(agent, 200, WorldNetwork.ADDRESSES);
    assertReached(true, alice, FRONTENDS, PORT, agent);
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(200, "PUT", "/policy", policy("other"));
    assertReached(false, alice, FRONTENDS, PORT, agent);
  }
}
