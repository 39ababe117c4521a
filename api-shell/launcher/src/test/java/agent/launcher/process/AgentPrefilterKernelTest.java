package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.ConnectionCheck;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The prefilter through the API, on packets that come from outside the node. */
@KernelTest
class AgentPrefilterKernelTest {
  private static final int PORT = 8080;
  private static final String NODE4 = "198.51.100.1";
  private static final String NODE6 = "2001:db8:100::1";
  private static final String OUTSIDE4 = "198.51.100.9";
  private static final String OUTSIDE6 = "2001:db8:100::9";

  private static TestNode node;
  private static NetworkNamespace outside;
  private static AgentProcess agent;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().exec("ip", "address", "add", NODE4 + "/24", "dev", "ext0");
    node.namespace().exec("ip", "address", "add", NODE6 + "/64", "dev", "ext0", "nodad");
    outside.exec("ip", "address", "add", OUTSIDE4 + "/24", "dev", "eth0");
    outside.exec("ip", "address", "add", OUTSIDE6 + "/64", "dev", "eth0", "nodad");
    node.keep(TcpEchoServer.start(node.namespace(), PORT));
    agent = node.agent("--prefilter-device", "ext0", "--prefilter-mode", "generic");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @BeforeEach
  void emptyTheList() throws Exception {
    final List<String> all = new ArrayList<>();
    list().get("spec").get("deny").forEach(prefix -> all.add(prefix.asString()));
    agent.expect(200, "DELETE", "/prefilter", body(all));
    assertReached(true);
  }

  @Test
  void shouldDropTenThousandPrefixesOfBothFamiliesAddedAtOnce() throws Exception {
    final List<String> prefixes = new ArrayList<>();
    for (int i = 0; i < 5000; i++) {
      prefixes.add("100." + (64 + i / 256) + "." + i % 256 + ".0/24");
      prefixes.add("2001:db8:200:" + Integer.toHexString(i) + "::/64");
    }
    agent.expect(200, "PATCH", "/prefilter", body(prefixes));
    assertEquals(10_000, list().get("spec").get("deny").size());
    assertReached(true);
    agent.expect(200, "PATCH", "/prefilter", body(List.of(OUTSIDE4 + "/32", OUTSIDE6 + "/128")));
    assertReached(false);
    agent.expect(200, "DELETE", "/prefilter", body(List.of(OUTSIDE4 + "/32", OUTSIDE6 + "/128")));
    assertReached(true);
    assertEquals(10_000, list().get("spec").get("deny").size());
  }

  @Test
  void shouldHoldOverlappingPrefixesApart() throws Exception {
    agent.expect(
        200,
        "PATCH",
        "/prefilter",
        body(List.of("198.51.100.0/24", OUTSIDE4 + "/32", "2001:db8:100::/48", OUTSIDE6 + "/128")));
    assertReached(false);
    agent.expect(
        200, "DELETE", "/prefilter", body(List.of("198.51.100.0/24", "2001:db8:100::/48")));
    assertReached(false);
    agent.expect(200, "DELETE", "/prefilter", body(List.of(OUTSIDE4 + "/32", OUTSIDE6 + "/128")));
    assertReached(true);
  }

  @Test
  void shouldRefuseAStaleRevisionAndChangeNothing() throws Exception {
    final long revision = list().get("spec").get("revision").asLong();
    agent.expect(200, "PATCH", "/prefilter", body(List.of("192.0.2.0/24")));
    final JsonNode before = list();
    agent.expect(
        409,
        "PATCH",
        "/prefilter",
        "{\"revision\": " + revision + ", \"deny\": [\"" + OUTSIDE4 + "/32\"]}");
    assertEquals(before, list());
    assertReached(true);
  }

  @Test
  void shouldRefuseAListWithOneBadPrefixAndChangeNothing() throws Exception {
    final JsonNode before = list();
    final ApiCall.Answer answer =
        agent.expect(
            461,
            "PATCH",
            "/prefilter",
            body(List.of(OUTSIDE4 + "/32", OUTSIDE6 + "/128", "198.51.100.0/33")));
    assertTrue(answer.text().contains("198.51.100.0/33"), answer.text());
    assertEquals(before, list());
    assertReached(true);
  }

  @Test
  void shouldKeepTheListOverSigkill() throws Exception {
    agent.expect(200, "PATCH", "/prefilter", body(List.of(OUTSIDE4 + "/32", OUTSIDE6 + "/128")));
    final JsonNode before = list();
    agent.kill();
    assertReached(false);
    agent = node.agent("--prefilter-device", "ext0", "--prefilter-mode", "generic");
    assertEquals(before, list());
    assertReached(false);
  }

  private static String body(List<String> prefixes) {
    return prefixes.stream()
        .map(prefix -> '"' + prefix + '"')
        .collect(Collectors.joining(", ", "{\"deny\": [", "]}"));
  }

  private static JsonNode list() throws Exception {
    return agent.expect(200, "GET", "/prefilter", null).json();
  }

  private static void assertReached(boolean reached) {
    for (final String address : List.of(NODE4, NODE6)) {
      ConnectionCheck.expect(reached, outside, node.namespace(), address, PORT);
    }
  }
}
