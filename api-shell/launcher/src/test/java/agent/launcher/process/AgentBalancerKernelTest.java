package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.VethPair;
import java.nio.file.Files;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The option of the load balancer: what it attaches, shows and refuses. */
@KernelTest
class AgentBalancerKernelTest {
  private TestNode node;

  @BeforeEach
  void create() throws Exception {
    node = new TestNode();
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("ip", "address", "add", "198.51.100.1/24", "dev", "ext0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static JsonNode nodePort(AgentProcess agent) throws Exception {
    return agent
        .expect(200, "GET", "/healthz", null)
        .json()
        .at("/orch-proxy-replacement/features/nodePort");
  }

  private static JsonNode option(AgentProcess agent) throws Exception {
    return agent.expect(200, "GET", "/config", null).json().at("/status/daemonConfigurationMap/lb");
  }

  private String device() {
    return node.namespace().exec("ip", "link", "show", "dev", "ext0");
  }

  @Test
  void shouldAttachTheBalancerShowItAndRemoveItWithoutTheOption() throws Exception {
    final AgentProcess balancing = node.agent("--lb", "ext0");
    assertEquals("Native", nodePort(balancing).get("acceleration").asString());
    assertEquals("DSR", nodePort(balancing).get("mode").asString());
    assertEquals("IPIP", nodePort(balancing).get("dsrMode").asString());
    assertEquals("ext0", option(balancing).asString());
    assertTrue(device().contains(" xdp "), device());
    assertEquals(0, balancing.terminate());
    assertTrue(device().contains(" xdp "), "without an agent: " + device());
    final AgentProcess plain = node.agent();
    assertTrue(nodePort(plain).path("acceleration").isMissingNode());
    assertEquals("SNAT", nodePort(plain).get("mode").asString());
    assertFalse(device().contains("xdp"), device());
  }

  @Test
  void shouldBeRemovedByCleanup() throws Exception {
    node.agent("--lb", "ext0").kill();
    assertTrue(device().contains(" xdp "), device());
    final AgentProcess.Ended ended =
        AgentProcess.run(
            node.namespace(),
            "",
            "cleanup",
            "--force",
            "--state-dir",
            node.state().toString(),
            "--bpf-root",
            node.bpfRoot().toString());
    Files.createDirectories(node.state()); // which the node removes
    assertEquals(0, ended.status(), ended.output());
    assertTrue(ended.output().contains("balancer on ext0"), ended.output());
    assertFalse(device().contains("xdp"), device());
  }

  @Test
  void shouldNameTheOptionThatKeepsItFromStarting() throws Exception {
    assertRefused("--lb: interface 'nosuch0' does not exist", "--lb", "nosuch0");
    assertRefused(
        "--lb ext0: has no effect with --disable-orch-services",
        "--lb",
        "ext0",
        "--disable-orch-services");
  }

  private void assertRefused(String reason, String... options) throws Exception {
    final AgentProcess agent = node.launch(options);
    assertEquals(2, agent.exitCode(), agent.log());
    assertTrue(agent.log().contains(reason), agent.log());
  }
}
