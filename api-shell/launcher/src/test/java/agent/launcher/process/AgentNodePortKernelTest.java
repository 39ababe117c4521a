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
import agent.testkit.VethPair;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Services for clients outside through the API, on packets that a device of the node receives. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentNodePortKernelTest {
  private static final int PORT = 30080;
  private static final int SERVED = 8080;
  private static final int TIMEOUT_MS = 3000;

  /** A thousand messages take two seconds on a machine that has nothing else to do. */
  private static final int MANY_MS = 60_000;

  private static final List<String> NODE = List.of("198.51.100.1", "2001:db8:100::1");
  private static final List<String> OUTSIDE = List.of("198.51.100.8", "2001:db8:100::8");
  private static final List<String> ROUTED = List.of("203.0.113.80", "2001:db8:80::80");

  private static final List<String> BACKEND = List.of("192.0.2.8", "2001:db8:200::8");

  private TestNode node;
  private TestControlGroup group;
  private NetworkNamespace outside;
  private int links;

  @BeforeEach
  void create() throws IOException {
    node = new TestNode();
    group = TestControlGroup.create();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    address(node.namespace(), "ext0", NODE);
    address(outside, "eth0", OUTSIDE);
    outside.exec("ip", "route", "add", ROUTED.get(0) + "/32", "via", NODE.get(0));
    outside.exec("ip", "route", "add", ROUTED.get(1) + "/128", "via", NODE.get(1));
  }

  /** The address of the link has no time of detection, in which no neighbour is asked. */
  private void address(NetworkNamespace namespace, String device, List<String> addresses) {
    namespace.exec("ip", "address", "add", addresses.get(0) + "/24", "dev", device);
    for (final String ipv6 : List.of(addresses.get(1), "fe80::" + Integer.toHexString(++links))) {
      namespace.ip("-6 address add " + ipv6 + "/64 dev " + device + " nodad");
    }
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
    group.close();
  }

  private AgentProcess start(String... options) throws Exception {
    return startOn("ext0", options);
  }

  private AgentProcess startOn(String devices, String... options) throws Exception {
    return node.agent(
        Stream.concat(
                Stream.of("--cgroup-root", group.path().toString(), "--device", devices),
                Stream.of(options))
            .toArray(String[]::new));
  }

  private static String service(String type, String flags, String frontend, String... backends) {
    final StringBuilder all = new StringBuilder();
    for (final String backend : backends) {
      final String[] parts = backend.split("@", 2);
      all.append(all.isEmpty() ? "" : ",")
          .append("{\"ip\":\"%s\",\"port\":%d".formatted(parts[0], SERVED))
          .append(parts.length > 1 ? ",\"nodeName\":\"" + parts[1] + "\"}" : "}");
    }
    return """
        {"frontend-address": {"ip": "%s", "port": %d}, "backend-addresses": [%s],
         "flags": {"type": "%s"%s}}
        """
        .formatted(frontend, PORT, all, type, flags);
  }

  /** Connects from a socket that no program translates. */
  private static Outcome attempt(NetworkNamespace from, String address) {
    return TcpConnection.attempt(from, address, PORT, TIMEOUT_MS);
  }

  /** Connects from a socket of the node's control group. */
  private Outcome attemptOfNode(String address) throws Exception {
    return group.run(() -> attempt(node.namespace(), address));
  }

  /** Asks for an address and the port with a socket of the node, and returns the refusal. */
  private String bindOfNode(String address) throws Exception {
    return group.run(
        () ->
            node.namespace()
                .run(
                    () -> {
                      try (ServerSocket socket = new ServerSocket()) {
                        socket.bind(new InetSocketAddress(address, PORT));
                        return null;
                      } catch (BindException refused) {
                        return refused.getMessage();
                      }
                    }));
  }

  private void serve(TestWorkload server) throws IOException {
    node.keep(TcpEchoServer.start(server.namespace(), SERVED));
    node.keep(UdpEchoServer.start(server.namespace(), server.ipv4(), SERVED));
    node.keep(UdpEchoServer.start(server.namespace(), server.ipv6(), SERVED));
  }

  /** Each type, with and without the stack; a client inside reaches the same address. */
  @ParameterizedTest
  @ValueSource(strings = {"bpf", "legacy"})
  void shouldServeClientsOutsideByTheAddressOfEachType(String routing) throws Exception {
    final AgentProcess agent = start("--host-routing", routing);
    final TestWorkload server = node.workload(agent, "server");
    final TestWorkload client = node.workload(agent, "client");
    serve(server);
    int id = 1;
    for (final String type : List.of("NodePort", "HostPort", "ExternalIPs", "LoadBalancer")) {
      final boolean isOfNode = type.endsWith("Port");
      final List<String> frontends = isOfNode ? List.of("0.0.0.0", "::") : ROUTED;
      final List<String> reached = isOfNode ? NODE : ROUTED;
      agent.expect(
          201, "PUT", "/service/" + id, service(type, "", frontends.get(0), server.ipv4()));
      agent.expect(
          201, "PUT", "/service/" + (id + 1), service(type, "", frontends.get(1), server.ipv6()));
      for (final String address : reached) {
        assertEquals(Outcome.CONNECTED, attempt(outside, address), type + " " + address);
        assertEquals(Outcome.CONNECTED, attempt(client.namespace(), address), type + " inside");
        assertEquals(Outcome.CONNECTED, attemptOfNode(address), type + " of the node");
        assertEquals("Address already in use", bindOfNode(address), type + " " + address);
        assertTrue(UdpStream.isAnswered(outside, address, PORT, TIMEOUT_MS), type + " " + address);
      }
      agent.expect(200, "DELETE", "/service/" + id, null);
      agent.expect(200, "DELETE", "/service/" + (id + 1), null);
      for (final String address : isOfNode ? NODE : List.<String>of()) {
        assertEquals(Outcome.REFUSED, attempt(outside, address), type + " was removed");
      }
      id += 2;
    }
  }

  @Test
  void shouldJudgeClientsOutsideByThePolicyOfTheBackend() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload server = node.workload(agent, "server", "app=server");
    serve(server);
    agent.expect(201, "PUT", "/service/1", service("NodePort", "", "0.0.0.0", server.ipv4()));
    agent.expect(201, "PUT", "/service/2", service("NodePort", "", "::", server.ipv6()));
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}},
          "ingress": [{"fromCIDR": ["198.51.100.8/32", "2001:db8:100::8/128"]}]}]
        """);
    outside.exec("ip", "address", "add", "198.51.100.9/24", "dev", "eth0");
    for (final String address : NODE) {
      assertEquals(Outcome.CONNECTED, attempt(outside, address), "allowed to " + address);
    }
    agent.expect(200, "DELETE", "/policy", null);
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}},
          "ingress": [{"fromCIDR": ["198.51.100.9/32"]}]}]
        """);
    for (final String address : NODE) {
      assertEquals(Outcome.UNANSWERED, attempt(outside, address), "denied to " + address);
    }
  }

  /** Without a backend for them, clients get a refusal at once. */
  @Test
  void shouldServeByTheBackendsOfThisNodeWherePolicyOfTrafficSaysSo() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload server = node.workload(agent, "server");
    serve(server);
    final String name = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    final String local = ", \"extTrafficPolicy\": \"Local\"";
    agent.expect(
        201,
        "PUT",
        "/service/1",
        service("NodePort", local, "0.0.0.0", server.ipv4() + "@elsewhere"));
    assertEquals(Outcome.REFUSED, attempt(outside, NODE.getFirst()));
    assertEquals(Outcome.CONNECTED, attemptOfNode(NODE.getFirst()), "inside by all");
    agent.expect(
        200,
        "PUT",
        "/service/1",
        service("NodePort", local, "0.0.0.0", server.ipv4() + "@" + name));
    assertEquals(Outcome.CONNECTED, attempt(outside, NODE.getFirst()));
    final String inside = ", \"intTrafficPolicy\": \"Local\"";
    agent.expect(200, "PUT", "/service/1", service("NodePort", inside, "0.0.0.0", server.ipv4()));
    assertEquals(Outcome.CONNECTED, attempt(outside, NODE.getFirst()), "outside by all");
    assertEquals(Outcome.REFUSED, attemptOfNode(NODE.getFirst()));
    agent.expect(
        200, "PUT", "/service/1", service("ClusterIP", "", NODE.getFirst(), server.ipv4()));
    assertEquals(Outcome.REFUSED, attempt(outside, NODE.getFirst()), "not offered outside");
  }

  /** Connects a host that serves, and has no route but to the node. */
  private void connectBackend() throws IOException {
    final NetworkNamespace backend = NetworkNamespace.create("backend");
    node.keep(backend);
    VethPair.create(node.namespace(), "ext1", backend, "eth0");
    address(node.namespace(), "ext1", List.of("192.0.2.1", "2001:db8:200::1"));
    address(backend, "eth0", BACKEND);
    node.keep(TcpEchoServer.start(backend, SERVED));
    for (final String address : BACKEND) {
      node.keep(UdpEchoServer.start(backend, address, SERVED));
    }
  }

  /** Datagrams of 8,000 bytes pass in fragments by each way that there is. */
  @ParameterizedTest
  @ValueSource(strings = {"bpf", "legacy"})
  void shouldPassLargeDatagramsByEachPath(String routing) throws Exception {
    connectBackend();
    final AgentProcess agent = startOn("ext0,ext1", "--host-routing", routing);
    final TestWorkload server = node.workload(agent, "server");
    final TestWorkload client = node.workload(agent, "client");
    serve(server);
    final List<String> servers = List.of(server.ipv4(), server.ipv6());
    for (int family = 0; family < 2; family++) {
      final int id = 1 + 2 * family;
      final String local = servers.get(family);
      final String routed = ROUTED.get(family);
      final String own = NODE.get(family);
      final String all = family == 0 ? "0.0.0.0" : "::";
      agent.expect(201, "PUT", "/service/" + id, service("LoadBalancer", "", routed, local));
      agent.expect(
          201, "PUT", "/service/" + (id + 1), service("NodePort", "", all, BACKEND.get(family)));
      passes(client.namespace(), local, SERVED, "between workloads");
      passes(node.namespace(), local, SERVED, "from the node");
      passes(client.namespace(), BACKEND.get(family), SERVED, "to the network");
      passes(client.namespace(), routed, PORT, "to a service, by packet");
      group.run(
          () -> {
            passes(client.namespace(), routed, PORT, "to a service, at the socket");
            return null;
          });
      passes(client.namespace(), own, PORT, "to a service with a backend outside");
      passes(outside, routed, PORT, "from outside to a workload");
      passes(outside, own, PORT, "from outside to a backend outside");
    }
  }

  private static void passes(NetworkNamespace from, String address, int port, String path) {
    assertTrue(UdpStream.isAnswered(from, address, port, 8000, TIMEOUT_MS), path + " " + address);
  }

  /** Another host serves, which knows the clients by the address of the node. */
  @ParameterizedTest
  @ValueSource(strings = {"bpf", "legacy"})
  void shouldServeClientsOutsideByAnotherHost(String routing) throws Exception {
    connectBackend();
    final String[] options = {"--host-routing", routing, "--masquerade=false"};
    final AgentProcess agent = startOn("ext0,ext1", options);
    agent.expect(
        201, "PUT", "/service/1", service("NodePort", "", "0.0.0.0", BACKEND.get(0) + "@other"));
    agent.expect(
        201, "PUT", "/service/2", service("NodePort", "", "::", BACKEND.get(1) + "@other"));
    try (TcpConnection ipv4 = TcpConnection.open(outside, NODE.get(0), PORT);
        TcpConnection ipv6 = TcpConnection.open(outside, NODE.get(1), PORT)) {
      assertTrue(ipv4.exchangesMore(1000, MANY_MS) && ipv6.exchangesMore(1000, MANY_MS));
      for (final String address : NODE) {
        assertTrue(UdpStream.isAnswered(outside, address, PORT, TIMEOUT_MS), address);
      }
      agent.kill();
      assertTrue(ipv4.exchangesMore(10, TIMEOUT_MS) && ipv6.exchangesMore(10, TIMEOUT_MS));
      assertEquals(Outcome.CONNECTED, attempt(outside, NODE.get(0)), "without an agent");
      final AgentProcess next = startOn("ext0,ext1", options);
      assertTrue(ipv4.exchangesMore(10, TIMEOUT_MS) && ipv6.exchangesMore(10, TIMEOUT_MS));
      next.expect(200, "DELETE", "/service/1", null);
      assertEquals(Outcome.REFUSED, attempt(outside, NODE.get(0)));
      assertEquals(Outcome.CONNECTED, attempt(outside, NODE.get(1)));
    }
  }

  /** A socket of the node serves, and its answers have the address that the client has asked. */
  @Test
  void shouldServeClientsOutsideByTheNodeItself() throws Exception {
    final AgentProcess agent = start();
    node.keep(TcpEchoServer.start(node.namespace(), SERVED));
    agent.expect(201, "PUT", "/service/1", service("ExternalIPs", "", ROUTED.get(0), NODE.get(0)));
    agent.expect(201, "PUT", "/service/2", service("ExternalIPs", "", ROUTED.get(1), NODE.get(1)));
    for (final String address : ROUTED) {
      assertEquals(Outcome.CONNECTED, attempt(outside, address), address);
    }
  }

  @Test
  void shouldKeepConnectionsWhereTheAgentIsKilled() throws Exception {
    final AgentProcess agent = start();
    final TestWorkload server = node.workload(agent, "server");
    serve(server);
    agent.expect(201, "PUT", "/service/1", service("NodePort", "", "0.0.0.0", server.ipv4()));
    agent.expect(201, "PUT", "/service/2", service("NodePort", "", "::", server.ipv6()));
    final String before = agent.expect(200, "GET", "/service", null).text();
    try (TcpConnection ipv4 = TcpConnection.open(outside, NODE.get(0), PORT);
        TcpConnection ipv6 = TcpConnection.open(outside, NODE.get(1), PORT)) {
      assertTrue(ipv4.exchangesMore(10, TIMEOUT_MS) && ipv6.exchangesMore(10, TIMEOUT_MS));
      agent.kill();
      assertTrue(ipv4.exchangesMore(10, TIMEOUT_MS) && ipv6.exchangesMore(10, TIMEOUT_MS));
      assertEquals(Outcome.CONNECTED, attempt(outside, NODE.get(0)), "without an agent");
      final AgentProcess next = start();
      assertEquals(before, next.expect(200, "GET", "/service", null).text());
      assertTrue(ipv4.exchangesMore(10, TIMEOUT_MS) && ipv6.exchangesMore(10, TIMEOUT_MS));
      assertEquals(Outcome.CONNECTED, attempt(outside, NODE.get(1)), "with the next agent");
    }
  }
}
