package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.XdpMode;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TestControlGroup;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * How packets of a client outside reach a backend on another host, as the service says: whom the
 * backend sees, and by which way it answers. The backend has the address of the service on its
 * loopback device, takes the outer header of what it receives away, and has a link to the client.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentForwardingKernelTest {
  private static final int PORT = 30080;
  private static final int OTHER_PORT = 8080;
  private static final int TIMEOUT_MS = 5000;
  private static final int BYTES = 300_000;
  private static final String DSR = ", \"forwardingMode\": \"dsr\"";
  private static final String SNAT = ", \"forwardingMode\": \"snat\"";
  private static final List<String> CLIENT = List.of("198.51.100.8", "2001:db8:100::8");
  private static final List<String> NEIGHBOUR = List.of("198.51.100.9", "2001:db8:100::9");
  private static final List<String> NODE = List.of("198.51.100.1", "2001:db8:100::1");
  private static final List<String> TO_BACKEND = List.of("192.0.2.1", "2001:db8:200::1");
  private static final List<String> BACKEND = List.of("192.0.2.8", "2001:db8:200::8");
  private static final List<String> SERVICE = List.of("203.0.113.80", "2001:db8:80::80");

  private TestNode node;
  private TestControlGroup group;
  private NetworkNamespace client;
  private NetworkNamespace backend;
  private int links;

  @BeforeEach
  void create() throws Exception {
    node = new TestNode();
    group = TestControlGroup.create();
    client = NetworkNamespace.create("client");
    node.keep(client);
    backend = NetworkNamespace.create("backend");
    node.keep(backend);
    VethPair.create(node.namespace(), "ext0", client, "eth0");
    address(node.namespace(), "ext0", NODE);
    address(client, "eth0", CLIENT);
    VethPair.create(node.namespace(), "ext1", backend, "eth0");
    address(node.namespace(), "ext1", TO_BACKEND);
    address(backend, "eth0", BACKEND);
    VethPair.create(client, "direct", backend, "direct");
    address(client, "direct", List.of("10.8.0.1", "fd08::1"));
    address(backend, "direct", List.of("10.8.0.2", "fd08::2"));
    for (int family = 0; family < 2; family++) { // the backend has a way to this address alone
      client.ip(
          "route add %s via %s src %s"
              .formatted(SERVICE.get(family), NODE.get(family), CLIENT.get(family)));
    }
    backend.ip("route add " + CLIENT.get(0) + " via 10.8.0.1");
    backend.ip("-6 route add " + CLIENT.get(1) + " via fd08::1");
    backend.ip("link set lo up");
    backend.ip("address add " + SERVICE.get(0) + "/32 dev lo");
    backend.ip("-6 address add " + SERVICE.get(1) + "/128 dev lo nodad");
    attach(backend, "decapsulate");
    attach(client, "trivial_xdp"); // or the device of the node could not send to it from XDP
  }

  private void address(NetworkNamespace namespace, String device, List<String> addresses)
      throws Exception {
    namespace.exec("ip", "address", "add", addresses.get(0) + "/24", "dev", device);
    for (final String ipv6 : List.of(addresses.get(1), "fe80::" + Integer.toHexString(++links))) {
      namespace.ip("-6 address add " + ipv6 + "/64 dev " + device + " nodad");
    }
    for (final String each : List.of("all", device)) { // answers come by another link
      namespace.run(
          () -> Files.writeString(Path.of("/proc/sys/net/ipv4/conf", each, "rp_filter"), "0"));
    }
  }

  private void attach(NetworkNamespace end, String program) throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject object = BpfObject.open(in.readAllBytes(), "trivial")) {
      object.load();
      final int ifindex = VethPair.index(end, "eth0");
      node.keep(end.run(() -> BpfLink.createXdp(object.program(program), ifindex, XdpMode.NATIVE)));
    }
  }

  @AfterEach
  void remove() throws Exception {
    node.close();
    group.close();
  }

  private AgentProcess start(String... options) throws Exception {
    final String[] all = Arrays.copyOf(options, options.length + 4);
    System.arraycopy(
        new String[] {"--cgroup-root", group.path().toString(), "--device", "ext0,ext1"},
        0,
        all,
        options.length,
        4);
    return node.agent(all);
  }

  /** Creates a service of each family with one backend. */
  private static void serve(AgentProcess agent, String flags, List<String> servers, int port)
      throws Exception {
    for (int family = 0; family < 2; family++) {
      final int status = agent.call("GET", "/service/" + (family + 1), null).status();
      agent.expect(
          status == 200 ? 200 : 201,
          "PUT",
          "/service/" + (family + 1),
          """
          {"frontend-address": {"ip": "%s", "port": %d},
           "backend-addresses": [{"ip": "%s", "port": %d}],
           "flags": {"type": "LoadBalancer"%s}}
          """
              .formatted(SERVICE.get(family), PORT, servers.get(family), port, flags));
    }
  }

  /** Connects, has bytes echoed, and returns whom the server sees. */
  private String seenBy(NetworkNamespace server, int port, String frontend) throws Exception {
    try (ServerSocket listener = server.run(() -> new ServerSocket(port));
        Socket socket =
            client.run(
                () -> {
                  final Socket opened = new Socket();
                  opened.connect(new InetSocketAddress(frontend, PORT), TIMEOUT_MS);
                  return opened;
                })) {
      socket.setSoTimeout(TIMEOUT_MS);
      listener.setSoTimeout(TIMEOUT_MS);
      try (Socket accepted = listener.accept()) {
        final Thread echo = Thread.ofVirtual().start(() -> echo(accepted));
        final byte[] sent = new byte[BYTES];
        for (int i = 0; i < sent.length; i++) {
          sent[i] = (byte) (i * 31 + (i >> 8));
        }
        assertTrue(EchoedBytes.comeBack(socket, sent), frontend);
        socket.shutdownOutput();
        echo.join();
        return accepted.getInetAddress().getHostAddress();
      }
    }
  }

  private static void echo(Socket socket) {
    try {
      socket.getInputStream().transferTo(socket.getOutputStream());
    } catch (IOException ended) {
      return; // the client says so
    }
  }

  private static String text(String address) {
    return InetAddress.ofLiteral(address).getHostAddress();
  }

  private void assertSeen(List<String> addresses, NetworkNamespace server, int port, String how)
      throws Exception {
    for (int family = 0; family < 2; family++) {
      final String frontend = SERVICE.get(family);
      try {
        assertEquals(text(addresses.get(family)), seenBy(server, port, frontend), how);
      } catch (IOException failure) {
        throw new IOException(how + ", " + frontend, failure);
      }
    }
  }

  private void assertDatagrams(NetworkNamespace server, List<String> listening, String how)
      throws Exception {
    for (int family = 0; family < 2; family++) {
      try (UdpEchoServer echo = UdpEchoServer.start(server, listening.get(family), PORT)) {
        assertTrue(UdpStream.isAnswered(client, SERVICE.get(family), PORT, TIMEOUT_MS), how);
        assertTrue(echo.datagrams() > 0, how);
      }
    }
  }

  private static String mode(AgentProcess agent) throws Exception {
    return agent
        .expect(200, "GET", "/healthz", null)
        .json()
        .at("/orch-proxy-replacement/features/nodePort/mode")
        .asString();
  }

  @Test
  void shouldForwardToAnotherHostAsTheServiceSays() throws Exception {
    final AgentProcess agent = start();
    serve(agent, DSR, BACKEND, PORT);
    assertEquals("DSR", mode(agent));
    assertSeen(CLIENT, backend, PORT, "dsr");
    assertDatagrams(backend, SERVICE, "dsr");
    serve(agent, DSR, BACKEND, OTHER_PORT);
    assertSeen(TO_BACKEND, backend, OTHER_PORT, "dsr to another port");
    serve(agent, SNAT, BACKEND, PORT);
    assertEquals("SNAT", mode(agent));
    assertSeen(TO_BACKEND, backend, PORT, "snat");
    assertDatagrams(backend, BACKEND, "snat");
    serve(agent, "", BACKEND, PORT);
    assertSeen(TO_BACKEND, backend, PORT, "by default");
    final TestWorkload local = node.workload(agent, "local");
    serve(agent, DSR, List.of(local.ipv4(), local.ipv6()), PORT);
    assertSeen(CLIENT, local.namespace(), PORT, "a workload of this node");
  }

  /** Backends on the link of the device, so that XDP translates both directions. */
  @Test
  void shouldTranslateInXdpWithALoadBalancer() throws Exception {
    address(client, "eth0", NEIGHBOUR);
    client.completeChecksums("eth0");
    final AgentProcess agent = start("--lb", "ext0");
    serve(agent, SNAT, NEIGHBOUR, OTHER_PORT);
    assertEquals("SNAT", mode(agent));
    assertSeen(NODE, client, OTHER_PORT, "snat");
    final String flows = agent.expect(200, "GET", "/map/balancer_flows", null).text();
    for (int family = 0; family < 2; family++) {
      final String frontend = SERVICE.get(family);
      assertTrue(flows.contains(frontend), flows);
      assertTrue(flows.contains(NEIGHBOUR.get(family)), "answers are known: " + flows);
    }
    assertEquals(4, flows.split(" relayed", -1).length - 1, flows);
    serve(agent, SNAT, NEIGHBOUR, PORT);
    assertDatagrams(client, NEIGHBOUR, "snat");
    serve(agent, "", BACKEND, PORT);
    assertEquals("DSR", mode(agent));
    assertSeen(CLIENT, backend, PORT, "by default");
    assertFalse(agent.log().contains("ERROR"), agent.log());
  }

  /** As of a namespace on this host, whose kernel leaves checksums to the device. */
  @Test
  void shouldTranslateWithChecksumsThatAreNotComplete() throws Exception {
    address(client, "eth0", NEIGHBOUR);
    final AgentProcess agent = start("--lb", "ext0");
    serve(agent, SNAT, NEIGHBOUR, OTHER_PORT);
    assertSeen(NODE, client, OTHER_PORT, "snat");
    serve(agent, SNAT, NEIGHBOUR, PORT);
    assertDatagrams(client, NEIGHBOUR, "snat");
  }
}
