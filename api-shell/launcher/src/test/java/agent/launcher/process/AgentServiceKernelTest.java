package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.SocketHook;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import tools.jackson.databind.JsonNode;

/** Services through the API, with clients on the node and in workloads. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentServiceKernelTest {
  private static final String FRONTEND4 = "10.96.0.1";
  private static final String FRONTEND6 = "fd96::1";
  private static final int PORT = 8080;

  private TestNode node;
  private TestControlGroup group;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    group = TestControlGroup.enter();
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

  private static String service(String frontend, String... backends) {
    final StringBuilder all = new StringBuilder();
    for (final String backend : backends) {
      all.append(all.isEmpty() ? "" : ",");
      all.append("{\"ip\":\"").append(backend).append("\",\"port\":8080}");
    }
    return "{\"frontend-address\":{\"ip\":\"%s\",\"port\":80},\"backend-addresses\":[%s]}"
        .formatted(frontend, all);
  }

  /** Connects to the port 80 of an address, and returns whether it is answered. */
  private static boolean isServed(NetworkNamespace client, String address) throws Exception {
    return client.run(
        () -> {
          try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), 80), 2000);
            socket.setSoTimeout(2000);
            socket.getOutputStream().write(1);
            return socket.getInputStream().read() == 1;
          } catch (SocketTimeoutException unanswered) {
            return false;
          }
        });
  }

  private static JsonNode features(AgentProcess agent) throws IOException {
    return agent
        .expect(200, "GET", "/healthz", null)
        .json()
        .get("orch-proxy-replacement")
        .get("features");
  }

  @Test
  void shouldServeTheSocketsOfTheControlGroupOfTheOption() throws Exception {
    final AgentProcess agent = start();
    assertTrue(features(agent).get("socketLB").get("enabled").asBoolean());
    final TestWorkload server = node.workload(agent, "server", "app=server");
    final TestWorkload client = node.workload(agent, "client", "app=client");
    final TestWorkload stranger = node.workload(agent, "stranger", "app=stranger");
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
    agent.expect(201, "PUT", "/service/1", service(FRONTEND4, server.ipv4()));
    agent.expect(201, "PUT", "/service/2", service(FRONTEND6, server.ipv6()));
    for (final String frontend : new String[] {FRONTEND4, FRONTEND6}) {
      assertTrue(isServed(client.namespace(), frontend), "from a workload to " + frontend);
      assertTrue(isServed(node.namespace(), frontend), "from the node to " + frontend);
    }
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}},
          "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "client"}}]}]}]
        """);
    for (final String frontend : new String[] {FRONTEND4, FRONTEND6}) {
      assertTrue(isServed(client.namespace(), frontend), "allowed to the backend");
      assertFalse(isServed(stranger.namespace(), frontend), "denied to the backend");
    }
    agent.expect(200, "PUT", "/service/1", service(FRONTEND4));
    assertThrows(ConnectException.class, () -> isServed(client.namespace(), FRONTEND4));
    final String metrics = agent.expect(200, "GET", "/metrics/", null).text();
    assertTrue(metrics.contains("agent_service_sockets_total"), metrics);
  }

  @Test
  void shouldServeWithoutAnAgentAndWithTheNextOne() throws Exception {
    final AgentProcess first = start();
    final TestWorkload server = node.workload(first, "server");
    node.keep(TcpEchoServer.start(server.namespace(), PORT));
    first.expect(201, "PUT", "/service/1", service(FRONTEND4, server.ipv4()));
    first.expect(201, "PUT", "/service/2", service(FRONTEND6, server.ipv6()));
    first.expect(200, "DELETE", "/service/2", null);
    first.expect(201, "PUT", "/service/3", service("10.96.0.3", server.ipv4()));
    final String before = first.expect(200, "GET", "/service", null).text();
    first.kill();
    assertTrue(isServed(node.namespace(), FRONTEND4), "without an agent");
    Files.writeString(node.state().resolve("services/3.json"), "damaged");
    final AgentProcess second = start();
    assertTrue(isServed(node.namespace(), FRONTEND4), "with the next agent");
    assertTrue(isServed(node.namespace(), "10.96.0.3"), "as the kernel has it");
    second.expect(503, "GET", "/service/3", null);
    final String refusal =
        second.expect(409, "PUT", "/service/9", service("10.96.0.3", server.ipv4())).text();
    assertTrue(refusal.contains("10.96.0.3:80/ANY is already the frontend of service 3"), refusal);
    assertTrue(isServed(node.namespace(), "10.96.0.3"), "by service 3");
    second.expect(200, "DELETE", "/service/3", null);
    second.expect(201, "PUT", "/service/9", service("10.96.0.3", server.ipv4()));
    assertTrue(isServed(node.namespace(), "10.96.0.3"), "by service 9");
    second.expect(200, "DELETE", "/service/9", null);
    second.expect(201, "PUT", "/service/3", service("10.96.0.3", server.ipv4()));
    assertEquals(before, second.expect(200, "GET", "/service", null).text());
    for (final int id : new int[] {1, 3}) {
      second.expect(200, "DELETE", "/service/" + id, null);
    }
    assertEquals(0, pins());
  }

  /** Services that are created together are stored together. */
  @Test
  void shouldHaveWhatItAnsweredWhereAKillEndsManyCreations() throws Exception {
    final AgentProcess first = start();
    final Set<Integer> answered = ConcurrentHashMap.newKeySet();
    final List<Thread> clients = new ArrayList<>();
    for (int client = 0; client < 16; client++) {
      final int id = 1 + client;
      clients.add(Thread.ofPlatform().start(() -> create(first, id, answered)));
    }
    while (answered.size() < 200) {
      assertTrue(clients.stream().anyMatch(Thread::isAlive), "answered: " + answered);
      Thread.onSpinWait();
    }
    first.kill();
    for (final Thread client : clients) {
      assertTrue(client.join(Duration.ofMinutes(2)), "a client without an end");
    }
    final AgentProcess second = start();
    final Set<Integer> found = new HashSet<>();
    second
        .expect(200, "GET", "/service", null)
        .json()
        .forEach(service -> found.add(service.at("/spec/id").asInt()));
    answered.removeAll(found);
    assertEquals(Set.of(), answered);
    for (final int id : found) {
      second.expect(200, "DELETE", "/service/" + id, null);
    }
    assertEquals(0, pins());
  }

  /** Creates services with every 16th id, until a call fails. */
  private static void create(AgentProcess agent, int first, Set<Integer> answered) {
    try {
      for (int id = first; id < 1000; id += 16) {
        final String frontend = "10.96." + (id >> 8) + "." + (id & 0xff);
        agent.expect(201, "PUT", "/service/" + id, service(frontend, "10.1.0.7", "10.1.0.8"));
        answered.add(id);
      }
    } catch (IOException killed) {
      return;
    }
  }

  private long pins() throws IOException {
    final Path folder = node.bpfRoot().resolve("agent/sockets");
    if (!Files.exists(folder)) {
      return 0;
    }
    try (Stream<Path> pins = Files.list(folder)) {
      return pins.count();
    }
  }

  /** The tables are made of the services of the previous run, and go with the option. */
  @Test
  void shouldSelectByTheAlgorithmOfTheOption() throws Exception {
    final String[] three = {"10.1.0.7", "10.1.0.8", "10.1.0.9"};
    final AgentProcess first = start("--service-algorithm", "random");
    first.expect(201, "PUT", "/service/1", service(FRONTEND4, three));
    assertEquals("Random", features(first).at("/nodePort/algorithm").asString());
    assertTrue(features(first).at("/nodePort/lutSize").isMissingNode());
    assertEquals(0, entries(first, "service_tables"));
    assertEquals(0, first.terminate());
    final AgentProcess second = start();
    assertEquals("Maglev", features(second).at("/nodePort/algorithm").asString());
    assertEquals("SNAT", features(second).at("/nodePort/mode").asString());
    assertEquals(16_381, features(second).at("/nodePort/lutSize").asInt());
    final String table = second.expect(200, "GET", "/map/service_tables", null).text();
    assertTrue(table.contains("cells 509"), table);
    assertEquals(8, entries(second, "service_cells"));
    assertEquals(3, entries(second, "service_ends"));
    second.kill();
    final AgentProcess third = start("--service-table-size", "251", "--max-service-backends", "4");
    assertEquals(251, features(third).at("/nodePort/lutSize").asInt());
    assertEquals(4, entries(third, "service_cells"));
    final String refusal =
        third.expect(500, "PUT", "/service/2", service(FRONTEND6, "fd00::7", "fd00::8")).text();
    assertTrue(refusal.contains("more than 4 backends in all services"), refusal);
    third.expect(201, "PUT", "/service/2", service(FRONTEND6, "fd00::7"));
    third.expect(200, "DELETE", "/service/2", null);
    assertEquals(0, third.terminate());
    final AgentProcess last = start("--service-algorithm", "random");
    for (final String map : new String[] {"service_tables", "service_cells", "service_ends"}) {
      assertEquals(0, entries(last, map), map);
    }
    assertEquals(3, entries(last, "service_slots"));
  }

  private static int entries(AgentProcess agent, String map) throws IOException {
    return agent.expect(200, "GET", "/map/" + map, null).json().get("entries").asInt();
  }

  @Test
  void shouldHaveNoServicesWhereTheOptionSaysSo() throws Exception {
    final AgentProcess first = start();
    first.expect(201, "PUT", "/service/1", service(FRONTEND4, "10.1.0.7"));
    assertEquals(SocketHook.values().length, pins());
    for (final String inside : List.of("socketLB", "sessionAffinity", "gracefulTermination")) {
      assertTrue(features(first).get(inside).get("enabled").asBoolean(), inside);
    }
    for (final String ofDevices : List.of("nodePort", "hostPort", "externalIPs")) {
      assertFalse(features(first).get(ofDevices).get("enabled").asBoolean(true), ofDevices);
    }
    assertEquals(0, first.terminate());
    final AgentProcess agent = start("--disable-orch-services");
    assertEquals(0, pins());
    final String refusal =
        agent.expect(501, "PUT", "/service/2", service(FRONTEND6, "fd00::7")).text();
    assertTrue(refusal.contains("--disable-orch-services"), refusal);
    assertFalse(features(agent).get("socketLB").get("enabled").asBoolean());
    assertTrue(features(agent).at("/nodePort/algorithm").isMissingNode());
    for (final String map :
        new String[] {"services", "service_slots", "service_tables", "service_backends"}) {
      final JsonNode held = agent.expect(200, "GET", "/map/" + map, null).json();
      assertEquals(0, held.get("entries").asInt(), () -> map + ": " + held);
    }
    assertEquals(
        "Ok", agent.expect(200, "GET", "/healthz", null).json().at("/agent/state").asString());
  }
}
