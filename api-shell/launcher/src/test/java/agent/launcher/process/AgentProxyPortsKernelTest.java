package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.VethPair;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The sockets of the proxies get what policy has sent there and nothing else, also by interfaces
 * without a program of the agent: the loopback of the node, a container that is not the agent's, a
 * tunnel.
 */
@KernelTest
class AgentProxyPortsKernelTest {
  private static final int PORT = 8080;
  private static final int TIMEOUT_MS = 150;
  private static final int DATAGRAMS = 40;
  private static final String GATEWAY4 = "10.210.0.1";
  private static final String NAMES = WorldNetwork.ADDRESSES.getFirst();
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [{"toEndpoints": [{}]},
        {"toEntities": ["world"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
          "rules": {"dns": [{"matchPattern": "*.example.com"}]}}]}]},
       {"endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"toPorts": [
        {"ports": [{"port": "%d", "protocol": "TCP"}],
         "rules": {"http": [{"method": "GET", "path": "/public"}]}}]}]}]
      """
          .formatted(PORT);

  private TestNode node;
  private NetworkNamespace world;
  private NetworkNamespace container;
  private VethPair plain;
  private TestWorkload client;
  private TestWorkload server;
  private String gateway6;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    world = WorldNetwork.connect(node);
    container = NetworkNamespace.create("container");
    node.keep(container);
    plain = VethPair.create(node.namespace(), "plain0", container, "eth0");
    join(plain.host(), "plain0", container, "eth0", "198.51.100.", "2001:db8:51::");
    for (final NetworkNamespace end : List.of(node.namespace(), world)) {
      final boolean isNode = end == node.namespace();
      end.ip(
          "link add vx0 type vxlan id 42 dstport 4789 local 192.0.2.%d remote 192.0.2.%d"
              .formatted(isNode ? 1 : 2, isNode ? 2 : 1),
          "link set vx0 addrgenmode none up");
    }
    join(node.namespace(), "vx0", world, "vx0", "203.0.113.", "2001:db8:113::");
    final NameServer names = NameServer.start(world, NAMES);
    node.keep(names);
    names.records("192.0.2.80 www.example.com");
    final AgentProcess agent = node.agent("--device", WorldNetwork.DEVICE);
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(HttpOrigin.start(server.namespace(), PORT));
    agent.expect(200, "PUT", "/policy", RULES);
    gateway6 =
        listeners("-Huln").keySet().stream()
            .filter(of -> of.contains(":"))
            .findFirst()
            .orElseThrow();
  }

  /** Assigns both sides an address of each family, and the second one a default route. */
  private static void join(
      NetworkNamespace first,
      String firstDevice,
      NetworkNamespace second,
      String secondDevice,
      String prefix4,
      String prefix6) {
    first.ip(
        "address add " + prefix4 + "1/24 dev " + firstDevice,
        "address add " + prefix6 + "1/64 dev " + firstDevice + " nodad");
    second.ip(
        "address add " + prefix4 + "2/24 dev " + secondDevice,
        "address add " + prefix6 + "2/64 dev " + secondDevice + " nodad",
        "route add 10.210.0.0/24 via " + prefix4 + "1",
        "route add fd00:210::/96 via " + prefix6 + "1");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Returns the ports of the sockets at each address of the proxies, as ss(8) shows them. */
  private Map<String, TreeSet<Integer>> listeners(String option) {
    final Map<String, TreeSet<Integer>> found = new TreeMap<>();
    for (final String line : node.namespace().exec("ss", option).lines().toList()) {
      final String local = line.strip().split(" +")[3];
      final int colon = local.lastIndexOf(':');
      final String address = local.substring(0, colon).replaceAll("[\\[\\]]|::ffff:", "");
      if (address.startsWith("10.210.0.") || address.startsWith("fd00:210:")) {
        final int port = Integer.parseInt(local.substring(colon + 1));
        found.computeIfAbsent(address, none -> new TreeSet<>()).add(port);
      }
    }
    return found;
  }

  /** Returns how many datagrams the sockets of an address have dropped: the column "drops". */
  private long dropped(String address) throws Exception {
    final TreeSet<Integer> ports = listeners("-Huln").get(address);
    final Path file = Path.of("/proc/thread-self/net", address.contains(":") ? "udp6" : "udp");
    return node.namespace().run(() -> Files.readAllLines(file)).stream()
        .map(line -> line.strip().split(" +"))
        .filter(words -> words[1].contains(":"))
        .filter(words -> ports.contains(Integer.parseInt(words[1].split(":")[1], 16)))
        .mapToLong(words -> Long.parseLong(words[words.length - 1]))
        .sum();
  }

  private void assertServes() throws Exception {
    for (final String address : List.of(server.ipv4(), server.ipv6())) {
      try (KeptConnection open = KeptConnection.open(client.namespace(), address, PORT)) {
        assertEquals(200, open.request("GET /public"));
        assertEquals(403, open.request("GET /secret"));
      }
    }
    for (final String option : List.of("+notcp", "+tcp")) {
      assertEquals("192.0.2.80", lookUp(option), option);
    }
  }

  private String lookUp(String option) {
    return client
        .namespace()
        .attempt("dig", "@" + NAMES, "+short", "+tries=3", "+time=3", option, "www.example.com")
        .output()
        .strip();
  }

  private static void send(NetworkNamespace from, String address, int port, int count)
      throws Exception {
    final byte[] junk = new byte[64];
    Arrays.fill(junk, (byte) 0xff);
    try (DatagramSocket socket = from.run(DatagramSocket::new)) {
      for (int i = 0; i < count; i++) {
        socket.send(
            new DatagramPacket(
                junk, junk.length, new InetSocketAddress(InetAddress.getByName(address), port)));
      }
    }
  }

  @Test
  void shouldTakeNothingThatPolicyHasNotSentThere() throws Exception {
    assertServes();
    final Map<String, TreeSet<Integer>> tcp = listeners("-Htln");
    final Map<String, TreeSet<Integer>> udp = listeners("-Huln");
    assertEquals(16, tcp.get(GATEWAY4).size(), tcp.toString());
    assertEquals(16, tcp.get(gateway6).size(), tcp.toString());
    for (final NetworkNamespace from : List.of(node.namespace(), container, world)) {
      for (final String gateway : List.of(GATEWAY4, gateway6)) {
        for (final int port : List.of(tcp.get(gateway).first(), tcp.get(gateway).last())) {
          assertEquals(
              Outcome.UNANSWERED,
              TcpConnection.attempt(from, gateway, port, TIMEOUT_MS),
              () -> from.name() + " to " + gateway + " port " + port);
        }
        for (final int port : List.of(udp.get(gateway).first(), udp.get(gateway).last())) {
          final long before = dropped(gateway);
          send(from, gateway, port, DATAGRAMS);
          awaitDropped(gateway, before + DATAGRAMS);
        }
      }
    }
    assertServes();
  }

  private void awaitDropped(String gateway, long expected) throws Exception {
    for (int i = 0; i < 500 && dropped(gateway) < expected; i++) {
      Thread.sleep(5);
    }
    assertEquals(expected, dropped(gateway));
  }

  private IpPacket forged() {
    return Packets.ipv4(client.ipv4(), GATEWAY4).from(plain.workloadMac()).to(plain.hostMac());
  }

  /** The client has a flow to one of the ports, and its packets come by its own interface. */
  @Test
  void shouldTakeNothingInTheNameOfAWorkload() throws Exception {
    final int from;
    final int to;
    try (DatagramSocket socket = client.namespace().run(DatagramSocket::new)) {
      socket.connect(new InetSocketAddress(NAMES, 53));
      socket.send(new DatagramPacket(new byte[64], 64));
      from = socket.getLocalPort();
      to = listeners("-Huln").get(GATEWAY4).first();
      final long before = dropped(GATEWAY4);
      for (int i = 0; i < 8; i++) {
        final int port = to + i;
        PacketFlood.send(container, "eth0", DATAGRAMS, n -> forged().udp(from, port).bytes());
      }
      awaitDropped(GATEWAY4, before + 8L * DATAGRAMS);
    }
    assertServes();
  }
}
