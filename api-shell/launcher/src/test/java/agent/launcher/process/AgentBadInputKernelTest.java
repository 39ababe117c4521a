package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What no client should send: the documented error, and nothing has changed. */
@KernelTest
class AgentBadInputKernelTest {
  private static final List<String> EVERYTHING =
      List.of("/endpoint", "/identity", "/policy", "/map/endpoints", "/map/ipcache4");

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload workload;

  private Map<String, String> before;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    agent = node.agent();
    workload = node.workload(agent, "there", "app=there");
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @BeforeEach
  void lookAtEverything() throws Exception {
    before = everything();
  }

  @AfterEach
  void shouldHaveChangedNothing() throws Exception {
    assertEquals(before, everything());
    assertFalse(agent.log().contains("\tat "), "a stack trace in the log: " + agent.log());
  }

  @Test
  void shouldRefuseMalformedJsonWithLineAndColumn() throws Exception {
    final Map<String, String> bodies =
        Map.of("/endpoint/0", "{\"state\":\n  nonsense", "/policy", "[\n{nonsense");
    for (final Map.Entry<String, String> body : bodies.entrySet()) {
      final ApiCall.Answer answer = agent.expect(400, "PUT", body.getKey(), body.getValue());
      assertTrue(answer.text().contains("line 2, column "), answer.text());
    }
  }

  @Test
  void shouldNameFieldsThatAreUnknownOrOfTheWrongType() throws Exception {
    named("colour", agent.expect(400, "PUT", "/endpoint/0", "{\"state\":\"x\",\"colour\":1}"));
    named("labels", agent.expect(400, "PUT", "/endpoint/0", "{\"state\":\"x\",\"labels\":7}"));
    named("id", agent.expect(400, "PUT", "/endpoint/0", "{\"state\":\"x\",\"id\":\"many\"}"));
    named("state", agent.expect(400, "PUT", "/endpoint/0", "{}"));
    named(
        "[0].ingress[0].fromCIDR[0]",
        agent.expect(
            400,
            "PUT",
            "/policy",
            "[{\"endpointSelector\":{},\"ingress\":[{\"fromCIDR\":[\"10.0.0.0/40\"]}]}]"));
    named(
        "toFQDNs",
        agent.expect(
            400,
            "PUT",
            "/policy",
            "[{\"endpointSelector\":{},\"egress\":[{\"toFQDNs\":[{\"matchName\":\"a b\"}]}]}]"));
  }

  @Test
  void shouldApplyNothingOfADocumentWithOneBadRule() throws Exception {
    named(
        "[1]",
        agent.expect(
            400,
            "PUT",
            "/policy",
            "[{\"endpointSelector\":{},\"ingress\":[]},"
                + " {\"endpointSelector\":{},\"ingress\":[{\"toPorts\":[{\"ports\":"
                + "[{\"port\":\"70000\",\"protocol\":\"TCP\"}]}]}]}]"));
  }

  @Test
  void shouldRefuseAnInterfaceThatIsNotThereOrCannotBe() throws Exception {
    for (final String name : List.of("nosuch0", "lo", "a/b", "a\\u0000b", "..", "x".repeat(40))) {
      named(
          "interface-name",
          agent.expect(
              400,
              "PUT",
              "/endpoint/0",
              "{\"state\":\"waiting-for-identity\",\"interface-name\":\"" + name + "\"}"));
    }
  }

  @Test
  void shouldRefuseAnAddressOutsideThePoolOrNone() throws Exception {
    for (final String address : List.of("192.0.2.1", "10.0.0.999", "fd00:210::7")) {
      final ApiCall.Answer answer =
          agent.call(
              "PUT",
              "/endpoint/0",
              "{\"state\":\"waiting-for-identity\",\"interface-name\":\""
                  + workload.veth().hostInterface()
                  + "\",\"addressing\":{\"ipv4\":\""
                  + address
                  + "\"}}");
      assertTrue(answer.status() == 400 || answer.status() == 409, answer.toString());
    }
    agent.expect(400, "POST", "/ipam/192.0.2.1", null);
    agent.expect(400, "POST", "/ipam/10.0.0.999", null);
    agent.expect(404, "DELETE", "/ipam/10.210.0.200", null);
  }

  @Test
  void shouldRefuseBadIdentifiersAndPaths() throws Exception {
    agent.expect(400, "GET", "/endpoint/many", null);
    agent.expect(400, "GET", "/endpoint/70000", null);
    agent.expect(400, "GET", "/endpoint/agent-local:-1", null);
    agent.expect(404, "GET", "/endpoint/65535", null);
    agent.expect(404, "GET", "/no/such/path", null);
    agent.expect(404, "GET", "/map/passwd", null);
    agent.expect(400, "GET", "/map/..%2f..%2fetc%2fpasswd", null);
    agent.expect(400, "GET", "/map/a%00b", null);
    agent.expect(405, "POST", "/policy", "[]");
  }

  @Test
  void shouldRefuseABodyOfTwentyMebibytes() throws Exception {
    final String body = "[\"" + "x".repeat(20 << 20) + "\"]";
    agent.expect(413, "PUT", "/policy", body);
  }

  @Test
  void shouldSurviveHalfARequest() throws Exception {
    for (final String half :
        List.of(
            "PUT /policy HT",
            "PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n[{\"endpointSelector\"",
            "\u0000\u0001\u0002\r\n\r\n")) {
      try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        channel.connect(UnixDomainSocketAddress.of(agent.socket()));
        channel.write(ByteBuffer.wrap(half.getBytes(StandardCharsets.US_ASCII)));
      }
    }
    agent.expect(200, "GET", "/healthz", null);
  }

  private static void named(String field, ApiCall.Answer answer) {
    assertTrue(answer.json().isString(), answer.text());
    assertTrue(answer.text().contains(field), answer.text());
  }

  private static Map<String, String> everything() throws Exception {
    final Map<String, String> all = new TreeMap<>();
    for (final String path : EVERYTHING) {
      all.put(path, inOrder(withoutTimes(agent.expect(200, "GET", path, null).text())));
    }
    return all;
  }

  /** The entries of a map come in the kernel's order or, later, in that of its mirror. */
  private static String inOrder(String json) {
    return Stream.of(json.split("(?=\\{\"desired-action\")"))
        .map(entry -> entry.replaceAll("[],}]+$", ""))
        .sorted()
        .collect(Collectors.joining("\n"));
  }

  /**
   * When a mirror was read, how often a task ran, and whether the workload has answered the first
   * request for its address by now, is not what a request changes.
   */
  private static String withoutTimes(String json) {
    return json.replaceAll("\"(mirrored-at|[a-z-]*timestamp)\":\"[^\"]*\",?", "")
        .replaceAll("\"[a-z-]*count\":\\d+,?", "")
        .replaceAll("\"connected\":(true|false),?", "");
  }
}
