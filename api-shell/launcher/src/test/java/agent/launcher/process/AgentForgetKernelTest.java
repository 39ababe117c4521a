package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** {@code --restore=false} forgets endpoints, rules, leases and the prefilter, and for good. */
@KernelTest
class AgentForgetKernelTest {
  private static final String NODE4 = "198.51.100.1";
  private static final String OUTSIDE4 = "198.51.100.9";

  private TestNode node;
  private NetworkNamespace outside;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("ip", "address", "add", NODE4 + "/24", "dev", "ext0");
    outside.exec("ip", "address", "add", OUTSIDE4 + "/24", "dev", "eth0");
  }

  @AfterEach
  void closeNode() throws Exception {
    node.close();
  }

  @Test
  void shouldForgetEverythingAndNotRemindItLater() throws Exception {
    final AgentProcess before = launch();
    final TestWorkload former = node.workload(before, "former", "app=former");
    before.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\": {}, \"ingress\":[{\"fromEntities\":[\"all\"]}]}]");
    final String leased =
        before.expect(201, "POST", "/ipam?owner=other", null).json().at("/ipv4/ip").asString();
    before.expect(200, "PATCH", "/prefilter", "{\"deny\": [\"" + OUTSIDE4 + "/32\"]}");
    assertFalse(Ping.isAnswered(outside, NODE4, 300));
    assertTrue(pinned(former), "the programs of the endpoint are pinned");
    assertEquals(0, before.terminate(), before.log());

    final AgentProcess forgetful = launch("--restore=false");
    assertForgotten(forgetful, former, leased);
    assertEquals(0, forgetful.terminate(), forgetful.log());

    assertForgotten(launch(), former, leased);
  }

  private AgentProcess launch(String... options) throws Exception {
    final String[] all = new String[options.length + 4];
    System.arraycopy(options, 0, all, 4, options.length);
    all[0] = "--prefilter-device";
    all[1] = "ext0";
    all[2] = "--prefilter-mode";
    all[3] = "generic";
    return node.agent(all);
  }

  private void assertForgotten(AgentProcess agent, TestWorkload former, String leased)
      throws Exception {
    assertEquals("[]", agent.expect(200, "GET", "/endpoint", null).json().toString());
    agent.expect(404, "GET", "/endpoint/" + former.id(), null);
    assertUnpinned(former);
    assertEquals("[]", agent.expect(200, "GET", "/policy", null).json().get("policy").asString());
    final JsonNode prefilter = agent.expect(200, "GET", "/prefilter", null).json();
    assertEquals("[]", prefilter.at("/spec/deny").toString());
    assertEquals("[]", prefilter.at("/status/realized/deny").toString());
    assertTrue(Ping.isAnswered(outside, NODE4, 3000), "the prefilter lets the source pass");
    for (final String address : new String[] {leased, former.ipv4(), former.ipv6()}) {
      agent.expect(200, "POST", "/ipam/" + address, null);
      agent.expect(200, "DELETE", "/ipam/" + address, null);
    }
  }

  /** What no endpoint owns is removed after the API serves. */
  private void assertUnpinned(TestWorkload workload) throws Exception {
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (pinned(workload)) {
      assertTrue(System.nanoTime() < endNs, "nothing of the endpoint is pinned");
      Thread.sleep(20);
    }
  }

  private boolean pinned(TestWorkload workload) throws Exception {
    final Path folder = node.bpfRoot().resolve("agent/endpoints");
    return PinnedObjects.below(node.bpfRoot()).ids().keySet().stream()
        .anyMatch(pin -> pin.startsWith(folder) && pin.toString().contains("" + workload.id()));
  }
}
