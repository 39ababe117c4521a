package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** What endpoints and the daemon show of the proxies, after requests and questions of clients. */
@KernelTest
class AgentProxyStatisticsKernelTest {
  private static final int PORT = ClientAndServer.PORT;
  private static final String NONE = "0 0 0 0, 0 0 0 0";
  private static final String WWW = "www.example.com";

  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [
         {"toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}]}]},
         {"toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}],
           "rules": {"http": [{"method": "GET", "path": "/public"}]}}]}]},
       {"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
         {"toPorts": [{"ports": [{"port": "%d", "protocol": "TCP"}]}]},
         {"toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
           "rules": {"dns": [{"matchName": "www.example.com"}]}}]}]}]
      """
          .formatted(PORT, PORT);

  private TestNode node;
  private ClientAndServer pair;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    pair = ClientAndServer.start(node);
    node.keep(HttpOrigin.start(pair.server().namespace(), PORT));
    final NameServer names = NameServer.start(pair.server().namespace(), pair.server().ipv4());
    names.records(pair.server().ipv4() + " " + WWW);
    node.keep(names);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private long apply(String rules) throws Exception {
    final String path = "/policy?replace=true";
    return pair.agent().expect(200, "PUT", path, rules).json().get("revision").asLong();
  }

  private JsonNode policy(TestWorkload workload) throws Exception {
    return pair.agent()
        .expect(200, "GET", "/endpoint/" + workload.id(), null)
        .json()
        .at("/status/policy");
  }

  /** The redirects of an endpoint, as the proxy's port and the counts of each. */
  private Map<String, String> shown(TestWorkload workload) throws Exception {
    final Map<String, String> shown = new TreeMap<>();
    for (final JsonNode one : policy(workload).get("proxy-statistics")) {
      final String redirect =
          "%s %s %d"
              .formatted(
                  one.get("location").asString(),
                  one.get("protocol").asString(),
                  one.get("port").asInt());
      final String counts =
          counts(one.at("/statistics/requests")) + ", " + counts(one.at("/statistics/responses"));
      assertEquals(null, shown.put(redirect, one.path("allocated-proxy-port") + ": " + counts));
    }
    return shown;
  }

  private static String counts(JsonNode messages) {
    return "%d %d %d %d"
        .formatted(
            messages.get("received").asLong(),
            messages.get("forwarded").asLong(),
            messages.get("denied").asLong(),
            messages.get("error").asLong());
  }

  private void request(String address, String text, int status) throws Exception {
    try (Socket socket = pair.client().namespace().run(() -> new Socket(address, PORT))) {
      socket.setSoTimeout(8_000);
      socket
          .getOutputStream()
          .write((text + "\r\nConnection: close\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
      final String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), text + ": " + answer);
    }
  }

  private String dig(String name, String... options) {
    final List<String> line =
        new ArrayList<>(
            List.of("dig", "@" + pair.server().ipv4(), "+tries=1", "+time=5", name, "A"));
    line.addAll(List.of(options));
    return pair.ask(line.toArray(String[]::new));
  }

  /** Sends 12 bytes, which are answered as malformed. */
  private void askMalformed() throws Exception {
    try (DatagramSocket socket = pair.client().namespace().run(() -> new DatagramSocket())) {
      socket.setSoTimeout(8_000);
      socket.connect(new InetSocketAddress(pair.server().ipv4(), 53));
      socket.send(new DatagramPacket(new byte[12], 12));
      final DatagramPacket answer = new DatagramPacket(new byte[512], 512);
      socket.receive(answer);
      assertEquals(1, answer.getData()[3] & 0xf);
    }
  }

  /** The first ports of the proxies by their names, as the redirects of the daemon have them. */
  private Map<String, Integer> ports(String... redirects) throws Exception {
    final JsonNode proxy = pair.agent().expect(200, "GET", "/healthz", null).json().get("proxy");
    final Map<String, Integer> ports = new TreeMap<>();
    final List<String> names = new ArrayList<>();
    for (final JsonNode one : proxy.get("redirects")) {
      names.add(one.get("name").asString());
      ports.put(one.get("proxy").asString(), one.path("proxy-port").asInt());
    }
    assertEquals(List.of(redirects), names);
    assertEquals(names.size(), proxy.get("total-redirects").asInt());
    assertEquals(16, proxy.get("total-ports").asInt());
    return ports;
  }

  @Test
  void shouldCountTheMessagesOfEachRedirectExactly() throws Exception {
    assertEquals(Map.of(), shown(pair.client()));
    assertEquals(0, policy(pair.client()).get("proxy-policy-revision").asLong());
    final long revision = apply(RULES);
    final Map<String, Integer> ports =
        ports(
            pair.client().id() + ":egress:TCP:53",
            pair.client().id() + ":egress:UDP:53",
            pair.server().id() + ":ingress:TCP:8080");
    final String http = ports.get("http") + ": ";
    final String dns = ports.get("dns") + ": ";
    assertListens(ports);
    assertEquals(Map.of("ingress http 8080", http + NONE), shown(pair.server()));
    assertEquals(Map.of("egress dns 53", dns + NONE), shown(pair.client()));
    assertEquals(revision, policy(pair.server()).get("proxy-policy-revision").asLong());
    assertEquals(revision, policy(pair.client()).get("proxy-policy-revision").asLong());

    for (final String address : pair.addresses()) {
      request(address, "GET /public HTTP/1.1\r\nHost: a", 200);
      request(address, "PUT /public HTTP/1.1\r\nHost: a\r\nContent-Length: 0", 403);
      request(address, "GET /public HTTP/1.1\r\nHost: a\r\nHost: b", 400);
    }
    request(pair.server().ipv4(), "GET /public HTTP/1.1\r\nHost: a", 200);
    assertEquals(Map.of("ingress http 8080", http + "7 3 2 2, 3 3 0 0"), shown(pair.server()));

    assertTrue(dig(WWW, "+short").contains(pair.server().ipv4()));
    assertTrue(dig(WWW, "+short", "+tcp").contains(pair.server().ipv4()));
    assertTrue(dig("no.example.com").contains("REFUSED"));
    askMalformed();
    assertEquals(Map.of("egress dns 53", dns + "4 2 1 1, 2 2 0 0"), shown(pair.client()));
    assertEquals(Map.of("ingress http 8080", http + "7 3 2 2, 3 3 0 0"), shown(pair.server()));

    pair.agent().expect(200, "DELETE", "/policy", null);
    assertEquals(Map.of("ingress http 8080", http + "7 3 2 2, 3 3 0 0"), shown(pair.server()));
    assertEquals(0, policy(pair.server()).get("proxy-policy-revision").asLong());
    assertEquals(Map.of(), ports());
  }

  private void assertListens(Map<String, Integer> ports) throws Exception {
    final String listening = node.namespace().exec("ss", "-Htln");
    for (final int port : ports.values()) {
      assertTrue(listening.contains(":" + port + " "), port + " in " + listening);
    }
  }

  @Test
  void shouldForgetTheCountsOfARemovedEndpoint() throws Exception {
    apply(RULES);
    request(pair.server().ipv4(), "GET /public HTTP/1.1\r\nHost: a", 200);
    assertTrue(shown(pair.server()).get("ingress http 8080").endsWith(": 1 1 0 0, 1 1 0 0"));
    pair.agent().expect(200, "DELETE", "/endpoint/" + pair.server().id(), null);
    pair.agent().expect(201, "PUT", "/endpoint/" + pair.server().id(), pair.server().request());
    assertTrue(
        shown(pair.server()).get("ingress http 8080").endsWith(": " + NONE),
        "" + shown(pair.server()));
  }
}
