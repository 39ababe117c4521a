package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** More clients than an agent with few descriptors can have. */
@KernelTest
class AgentDescriptorsKernelTest {
  private static final int DESCRIPTORS = 400;
  private static final int LEAST = 384;
  private static final int CLIENTS = 600;
  private static final int WRITES = 20;

  private static final long DEADLINE_NS = Duration.ofSeconds(90).toNanos();
  private static final Pattern LENGTH = Pattern.compile("(?mi)^Content-Length: *(\\d+)");

  private final List<SocketChannel> idle = new ArrayList<>();
  private TestNode node;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void closeNode() throws Exception {
    for (final SocketChannel client : idle) {
      client.close();
    }
    node.close();
  }

  @Test
  void shouldWriteAndServeNewClientsWhileHundredsAreIdle() throws Exception {
    final AgentProcess agent = node.launchWithDescriptors(DESCRIPTORS).ready();
    connectAll(agent, "");
    for (int i = 0; i < WRITES; i++) {
      final JsonNode lease = agent.expect(201, "POST", "/ipam?owner=client-" + i, null).json();
      agent.expect(
          200,
          "PUT",
          "/policy",
          "[{\"endpointSelector\": {\"matchLabels\": {\"n\": \"" + i + "\"}}, \"ingress\": []}]");
      assertTrue(lease.has("ipv4"), lease.toString());
    }
    final TestWorkload workload = node.workload(agent, "new", "app=new");
    agent.expect(200, "GET", "/endpoint/" + workload.id(), null);
    assertEquals(DESCRIPTORS / 4.0, agent.metric("agent_api_connections_limit"));
    assertTrue(agent.metric("agent_api_connections") <= DESCRIPTORS / 4.0);
    assertTrue(
        agent.metric("agent_api_connections_closed_idle_total") >= CLIENTS - DESCRIPTORS / 4.0,
        "idle connections are closed to make room");
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }

  /** Connects many clients, each of which sends this and nothing else. */
  private void connectAll(AgentProcess agent, String start) throws IOException {
    for (int i = 0; i < CLIENTS; i++) {
      final SocketChannel client = connect(agent);
      idle.add(client);
      try {
        client.write(ByteBuffer.wrap(start.getBytes(StandardCharsets.US_ASCII)));
      } catch (IOException closed) {
        assertTrue(i > 0, "it was closed to make room: " + closed);
      }
    }
  }

  private static SocketChannel connect(AgentProcess agent) throws IOException {
    final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
    client.connect(UnixDomainSocketAddress.of(agent.socket()));
    return client;
  }

  /** Clients that stop in the middle of a request hold no connection that others need. */
  @Test
  void shouldServeChangesWhileHundredsOfRequestsAreHalfSent() throws Exception {
    final AgentProcess agent = node.launchWithDescriptors(DESCRIPTORS).ready();
    final TestWorkload client = node.workload(agent, "client", "app=client");
    final TestWorkload server = node.workload(agent, "server", "app=server");
    final TestWorkload gone = node.workload(agent, "gone", "app=gone");
    node.keep(HttpOrigin.start(server.namespace(), 8080));
    connectAll(agent, "PUT /policy HTTP/1.1\r\nHost: localhost\r\nContent-Len");
    agent.expect(200, "DELETE", "/endpoint/" + gone.id(), null);
    agent.expect(404, "GET", "/endpoint/" + gone.id(), null);
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}},
          "ingress": [{"toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
                                    "rules": {"http": [{"path": "/public"}]}}]}]}]
        """);
    assertEquals("200", curl(client, server, "/public"), agent.log());
    assertEquals("403", curl(client, server, "/secret"), agent.log());
    assertTrue(agent.metric("agent_api_connections") <= DESCRIPTORS / 4.0);
    assertFalse(Files.exists(node.bpfRoot().resolve("agent/endpoints/" + gone.id())));
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }

  private static String curl(TestWorkload from, TestWorkload to, String path) {
    final String url = "http://" + to.ipv4() + ":8080" + path;
    return from.namespace()
        .attempt("curl", "-s", "-o", "/dev/null", "-m", "20", "-w", "%{http_code}", url)
        .output()
        .strip();
  }

  /** The least limit with which the agent starts is one with which it serves. */
  @Test
  void shouldServeEndpointsAndARequestRuleWithTheLeastDescriptors() throws Exception {
    final AgentProcess agent = node.launchWithDescriptors(LEAST).ready();
    final List<TestWorkload> workloads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      workloads.add(node.workload(agent, "w" + i, "app=w" + i));
    }
    node.keep(HttpOrigin.start(workloads.get(3).namespace(), 8080));
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "w3"}},
          "ingress": [{"toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}],
                                    "rules": {"http": [{"path": "/public"}]}}]}]}]
        """);
    connectAll(agent, "");
    for (int i = 0; i < 3; i++) {
      assertEquals("200", curl(workloads.get(i), workloads.get(3), "/public"), agent.log());
      assertEquals("403", curl(workloads.get(i), workloads.get(3), "/secret"), agent.log());
    }
    agent.expect(200, "GET", "/endpoint", null);
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }

  /** Devices that have come while it ran, without a name in its options. */
  @Test
  void shouldTellThatDevicesWhichCameWouldStopTheNextStart() throws Exception {
    AgentProcess agent = node.launchWithDescriptors(LEAST).ready();
    assertEquals("OK", descriptors(agent).get("level").asString(), agent.log());
    for (int i = 0; i < 5; i++) {
      final String device = "found" + i;
      node.namespace().exec("ip", "link", "add", device, "type", "veth", "peer", "other" + i);
      node.namespace().exec("ip", "link", "set", device, "up");
      final String address = i % 2 == 0 ? "198.51.100." + i + "/32" : "2001:db8::" + i + "/128";
      node.namespace().exec("ip", "address", "add", address, "dev", device);
    }
    final JsonNode health = descriptors(agent);
    assertEquals("Degraded", health.get("level").asString());
    final String needs = "the limit of open files is 384, but the agent needs 388, with 5 devices";
    assertTrue(health.get("message").asString().contains(needs), health.toString());
    assertTrue(health.get("message").asString().contains("found0, found1"), health.toString());
    assertEquals(0, agent.terminate());
    agent = node.launchWithDescriptors(LEAST);
    assertEquals(1, agent.exitCode());
    assertTrue(agent.log().contains(needs), agent.log());
    node.namespace().exec("ip", "link", "delete", "found4");
    agent = node.launchWithDescriptors(LEAST).ready();
    assertEquals("OK", descriptors(agent).get("level").asString(), agent.log());
  }

  private static JsonNode descriptors(AgentProcess agent) throws IOException {
    for (final JsonNode module : agent.expect(200, "GET", "/health", null).json().get("modules")) {
      if (module.get("module-id").asString().equals("descriptors")) {
        return module;
      }
    }
    throw new AssertionError("there is no module of descriptors");
  }

  /** What cannot be removed without a descriptor is removed by the next run, at the latest. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRemoveAnEndpointWhoseDeletionFindsNoDescriptor(boolean isKilled) throws Exception {
    AgentProcess agent = node.agent();
    final TestWorkload gone = node.workload(agent, "gone", "app=gone");
    final String path = "/endpoint/" + gone.id();
    final String former;
    try (SocketChannel kept = connect(agent)) {
      assertEquals(200, request(kept, "GET " + path));
      former = limit(agent, firstFree(agent) + ":");
      final int status = request(kept, "DELETE " + path);
      assertTrue(status == 200 || status == 202, status + "\n" + agent.log());
    }
    if (isKilled) {
      agent.kill();
      agent = node.agent();
    } else {
      limit(agent, former + ":");
    }
    final Path pins = node.bpfRoot().resolve("agent/endpoints/" + gone.id());
    final long startNs = System.nanoTime();
    while (agent.call("GET", path, null).status() != 404 || Files.exists(pins)) {
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, pins + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
    }
    assertFalse(node.namespace().exec("ip", "route").contains(gone.ipv4()));
    final String link =
        node.namespace().exec("ip", "-o", "link", "show", gone.veth().hostInterface());
    assertTrue(link.contains("state DOWN"), link);
    agent.kill();
    agent = node.agent();
    agent.expect(404, "GET", path, null);
    assertFalse(Files.exists(pins));
    assertFalse(agent.log().contains("Exception"), agent.log());
  }

  /** Returns the lowest number that is no open descriptor: with it as the limit, none is left. */
  private static int firstFree(AgentProcess agent) {
    int number = 0;
    while (Files.exists(
        Path.of("/proc/" + agent.pid() + "/fd/" + number), LinkOption.NOFOLLOW_LINKS)) {
      number++;
    }
    return number;
  }

  /** Sets the soft limit of open files, and returns the former one. */
  private static String limit(AgentProcess agent, String limit) {
    final String pid = Long.toString(agent.pid());
    final String former =
        Commands.run(
            "prlimit", "--pid", pid, "--nofile", "--noheadings", "--raw", "--output", "SOFT");
    Commands.run("prlimit", "--pid", pid, "--nofile=" + limit);
    return former.strip();
  }

  /** Sends a request on a connection that is kept, and returns the status of the answer. */
  private static int request(SocketChannel kept, String request) throws IOException {
    final String head = request + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    kept.write(ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
    final StringBuilder answer = new StringBuilder();
    final ByteBuffer part = ByteBuffer.allocate(65_536);
    while (!isWhole(answer.toString())) {
      if (kept.read(part.clear()) < 0) {
        throw new EOFException("the connection ended after '" + answer + "'");
      }
      answer.append(StandardCharsets.UTF_8.decode(part.flip()));
    }
    return Integer.parseInt(answer.substring(9, 12));
  }

  private static boolean isWhole(String answer) {
    final Matcher length = LENGTH.matcher(answer);
    final int end = answer.indexOf("\r\n\r\n");
    return end > 0
        && (!length.find() || answer.length() - end - 4 >= Integer.parseInt(length.group(1)));
  }
}
