package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Workloads that use the node's own address ({@code host-addressing.ip}) as their gateway, as the
 * plugins of comparable agents have them do.
 */
@KernelTest
class AgentNodeGatewayKernelTest {
  private static final int PATIENCE_MS = 3000;

  private TestNode node;
  private AgentProcess agent;
  private TestWorkload one;
  private TestWorkload two;

  @BeforeEach
  void startAgent() throws Exception {
    node = new TestNode();
    node.namespace()
        .ip(
            "link add ext0 type veth peer name ext1",
            "link set ext0 up",
            "link set ext1 up",
            "address add 192.0.2.9/24 dev ext0",
            "address add 2001:db8:9::9/64 dev ext0 nodad");
    agent = node.agent();
    one = node.workload(agent, "one", "app=one");
    two = node.workload(agent, "two", "app=two");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private String nodeAddress(String family) throws Exception {
    final JsonNode endpoint = agent.expect(200, "GET", "/endpoint/" + one.id(), null).json();
    return endpoint.at("/status/networking/host-addressing/" + family + "/ip").asString();
  }

  @Test
  void shouldReachTheNodeAndOthersThroughTheAddressOfTheNode() throws Exception {
    final String node4 = nodeAddress("ipv4");
    final String node6 = nodeAddress("ipv6");
    assertEquals("192.0.2.9", node4);
    assertEquals("2001:db8:9::9", node6);
    final NetworkNamespace inside = one.namespace();
    inside.ip("route flush dev eth0");
    inside.ip("-6 route flush dev eth0");
    inside.ip(
        "neigh flush dev eth0",
        "route add " + node4 + "/32 dev eth0 scope link",
        "route add default via " + node4 + " dev eth0",
        "route add " + node6 + "/128 dev eth0",
        "route add default via " + node6 + " dev eth0");
    for (final String address : new String[] {node4, node6, two.ipv4(), two.ipv6()}) {
      assertTrue(Ping.isAnswered(inside, address, PATIENCE_MS), address);
    }
    final String neighbours = inside.exec("ip", "neigh", "show", "dev", "eth0");
    for (final String address : new String[] {node4, node6}) {
      assertTrue(
          neighbours.contains(address + " lladdr " + one.veth().hostMac()),
          () -> address + " is not in " + neighbours);
    }
  }
}
