package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Nftables;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import agent.testkit.VethPair;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Both directions of a flow bypass the stack where nothing on the node needs it, and pass through
 * it where something does, which the health says.
 */
@KernelTest
class AgentHostRoutingKernelTest {
  private static final long DEADLINE_NS = Duration.ofSeconds(60).toNanos();
  private static final int TCP_PORT = 8080;
  private static final int UDP_PORT = 8081;
  private static final int MESSAGES = 60;

  /** Packets of a connection that the stack may see in BPF mode: its first, and resolution. */
  private static final long FEW = 4;

  private static final List<String> WORLD = List.of("198.18.0.1", "2001:db8:18::1");
  private static final List<String> SERVICE = List.of("198.51.100.10", "2001:db8:51::10");

  private TestNode node;
  private NetworkNamespace world;
  private AgentProcess agent;
  private TestWorkload alice;
  private TestWorkload bob;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    world = NetworkNamespace.create("world");
    node.keep(world);
    for (int i = 0; i < 3; i++) {
      VethPair.create(node.namespace(), "net" + i, world, "eth" + i);
      node.namespace().ip("address add 192.0.%d.1/24 dev net%d".formatted(i, i));
      world.ip("address add 192.0.%d.2/24 dev eth%d".formatted(i, i));
      addressIpv6(i);
    }
    world.ip("address add 198.18.0.1/32 dev lo");
    world.ip("-6 address add 2001:db8:18::1/128 dev lo nodad");
    routeWorldBy(0);
    agent = node.agent("--device", "net0,net1", "--masquerade=false");
    alice = node.workload(agent, "alice", "app=alice");
    bob = node.workload(agent, "bob", "app=bob");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Assigns both ends IPv6 addresses, which a router needs of its link to resolve a neighbour. */
  private void addressIpv6(int device) {
    for (final String prefix : List.of("2001:db8:" + device + "::", "fe80::")) {
      node.namespace().ip("-6 address replace %s1/64 dev net%d nodad".formatted(prefix, device));
      world.ip("-6 address replace %s2/64 dev eth%d nodad".formatted(prefix, device));
    }
  }

  /** Routes the world's addresses by a device, and the workloads' and the service's from there. */
  private void routeWorldBy(int device) {
    node.namespace()
        .ip("route replace 198.18.0.1 via 192.0.%d.2 dev net%d".formatted(device, device));
    node.namespace()
        .ip(
            "-6 route replace 2001:db8:18::1 via 2001:db8:%d::2 dev net%d"
                .formatted(device, device));
    for (final String prefix : List.of("10.210.0.0/24", "198.51.100.0/24")) {
      world.ip("route replace %s via 192.0.%d.1 dev eth%d".formatted(prefix, device, device));
    }
    for (final String prefix : List.of("fd00:210::/96", "2001:db8:51::/64")) {
      world.ip(
          "-6 route replace %s via 2001:db8:%d::1 dev eth%d".formatted(prefix, device, device));
    }
  }

  private void awaitRouting(String mode, String reason) throws Exception {
    final long startNs = System.nanoTime();
    while (true) {
      final JsonNode health = agent.expect(200, "GET", "/healthz", null).json();
      final JsonNode routing = health.get("host-routing");
      if (routing.get("mode").asString().equals(mode)
          && routing.get("reason").asString().contains(reason)) {
        assertEquals(mode, health.get("routing").get("intra-host-routing-mode").asString());
        return;
      }
      assertTrue(System.nanoTime() - startNs < DEADLINE_NS, routing + "\n" + agent.log());
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  /** Returns how many packets of both families the stack of the node has forwarded. */
  private long forwarded() {
    final List<String> lines = node.namespace().exec("cat", "/proc/net/snmp").lines().toList();
    final List<String> ip = lines.stream().filter(line -> line.startsWith("Ip: ")).toList();
    final int column = Arrays.asList(ip.get(0).split(" ")).indexOf("ForwDatagrams");
    final long ipv6 =
        node.namespace()
            .exec("cat", "/proc/net/snmp6")
            .lines()
            .filter(line -> line.startsWith("Ip6OutForwDatagrams"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D+\\d\\D+|\\D+", "")))
            .sum();
    return Long.parseLong(ip.get(1).split(" ")[column]) + ipv6;
  }

  /** One client, one server with its address, and the address by which the client reaches it. */
  private record Way(NetworkNamespace client, NetworkNamespace server, String own, String address) {
    Way(NetworkNamespace client, NetworkNamespace server, String address) {
      this(client, server, address, address);
    }
  }

  private List<Way> ways() {
    return List.of(
        new Way(alice.namespace(), world, WORLD.get(0)),
        new Way(alice.namespace(), world, WORLD.get(1)),
        new Way(world, alice.namespace(), alice.ipv4()),
        new Way(world, alice.namespace(), alice.ipv6()),
        new Way(alice.namespace(), bob.namespace(), bob.ipv4()),
        new Way(alice.namespace(), bob.namespace(), bob.ipv6()));
  }

  /** Exchanges messages over TCP and UDP; returns how many packets of TCP the stack forwarded. */
  private long exchange(Way way) throws Exception {
    try (TcpEchoServer tcp = TcpEchoServer.start(way.server(), TCP_PORT);
        UdpEchoServer udp = UdpEchoServer.start(way.server(), way.own(), UDP_PORT)) {
      assertTrue(UdpStream.isAnswered(way.client(), way.address(), UDP_PORT, 3000), way::toString);
      try (TcpConnection connection = TcpConnection.open(way.client(), way.address(), TCP_PORT)) {
        assertTrue(connection.exchangesMore(1, 5000), way::toString);
        final long before = forwarded();
        assertTrue(connection.exchangesMore(MESSAGES, 10_000), way::toString);
        final long packets = forwarded() - before;
        assertTrue(tcp.connections() == 1 && udp.datagrams() == 1, way::toString);
        return packets;
      }
    }
  }

  private void assertBypasses(Way way) throws Exception {
    final long packets = exchange(way);
    assertTrue(packets <= FEW, way + ": the stack forwarded " + packets);
  }

  /** Each message and each answer is a packet. */
  private void assertInStack(Way way) throws Exception {
    final long packets = exchange(way);
    assertTrue(packets >= 2 * MESSAGES, way + ": the stack forwarded " + packets);
  }

  private Nftables firewall() {
    return Nftables.create(node.namespace(), Nftables.INET, "firewall")
        .filter("forward", Nftables.FORWARD, true)
        .rule("forward", Nftables.state(Nftables.INVALID), Nftables.drop())
        .rule("forward", Nftables.state(Nftables.ESTABLISHED_OR_RELATED), Nftables.accept());
  }

  private byte[][] newFrom(TestWorkload workload) {
    return new byte[][] {
      Nftables.state(Nftables.NEW),
      Nftables.receivedBy(workload.veth().hostIfindex()),
      Nftables.accept()
    };
  }

  @Test
  void shouldBypassTheStackInBothDirections() throws Exception {
    awaitRouting("BPF", "nothing on this node requires the network stack");
    for (final Way way : ways()) {
      assertBypasses(way);
    }
  }

  @Test
  void shouldPassByTheStackWhileAFirewallTracksConnections() throws Exception {
    awaitRouting("BPF", "");
    try (TcpEchoServer server = TcpEchoServer.start(world, 9000);
        TcpConnection running = TcpConnection.open(alice.namespace(), WORLD.get(0), 9000)) {
      assertTrue(running.exchangesMore(10, 5000));
      final Nftables firewall =
          firewall().rule("forward", newFrom(alice)).rule("forward", newFrom(bob));
      awaitRouting("Legacy", "nftables chain 'inet firewall forward' has rules");
      assertTrue(running.exchangesMore(MESSAGES, 15_000), "a connection from before goes on");
      for (final Way way : ways()) {
        if (way.client() == world) {
          assertEquals(
              TcpConnection.Outcome.UNANSWERED,
              TcpConnection.attempt(way.client(), way.address(), TCP_PORT, 300),
              way::toString);
        } else {
          assertInStack(way);
        }
      }
      firewall.delete();
      awaitRouting("BPF", "nothing on this node requires the network stack");
      assertTrue(running.exchangesMore(MESSAGES, 15_000), "a connection from before goes on");
      assertTrue(server.connections() > 0);
    }
    for (final Way way : ways()) {
      assertBypasses(way);
    }
  }

  @Test
  void shouldReachAWorkloadByAnAddressThatTheNodeTranslates() throws Exception {
    final Nftables ipv4 =
        Nftables.create(node.namespace(), Nftables.IPV4, "nat")
            .nat("prerouting", Nftables.PREROUTING)
            .rule("prerouting", Nftables.to(SERVICE.get(0)), Nftables.dnat(bob.ipv4()));
    final Nftables ipv6 =
        Nftables.create(node.namespace(), Nftables.IPV6, "nat")
            .nat("prerouting", Nftables.PREROUTING)
            .rule("prerouting", Nftables.to(SERVICE.get(1)), Nftables.dnat(bob.ipv6()));
    awaitRouting("Legacy", "nat prerouting' has rules, and 1 more");
    for (final String address : SERVICE) {
      final String own = address.contains(":") ? bob.ipv6() : bob.ipv4();
      assertInStack(new Way(alice.namespace(), bob.namespace(), own, address));
      assertInStack(new Way(world, bob.namespace(), own, address));
    }
    ipv4.delete();
    awaitRouting("Legacy", "nftables chain 'ip6 nat prerouting' has rules");
    ipv6.delete();
    awaitRouting("BPF", "nothing on this node requires the network stack");
    assertBypasses(ways().getFirst());
  }

  @Test
  void shouldMasqueradeWorkloadsWhereTheNodeDoes() throws Exception {
    final int device = VethPair.index(node.namespace(), "net0");
    for (final int family : new int[] {Nftables.IPV4, Nftables.IPV6}) {
      Nftables.create(node.namespace(), family, "nat")
          .nat("postrouting", Nftables.POSTROUTING)
          .rule("postrouting", Nftables.sentBy(device), Nftables.masquerade());
    }
    awaitRouting("Legacy", "nat postrouting' has rules");
    world.ip("route del 10.210.0.0/24");
    world.ip("-6 route del fd00:210::/96");
    assertInStack(new Way(alice.namespace(), world, WORLD.get(0)));
    assertInStack(new Way(alice.namespace(), world, WORLD.get(1)));
  }

  @Test
  void shouldFollowARouteToAnotherDeviceWhileAConnectionRuns() throws Exception {
    awaitRouting("BPF", "");
    for (final String address : WORLD) {
      routeWorldBy(0);
      try (TcpEchoServer server = TcpEchoServer.start(world, TCP_PORT);
          TcpConnection running = TcpConnection.open(alice.namespace(), address, TCP_PORT)) {
        assertTrue(running.exchangesMore(10, 5000));
        routeWorldBy(1);
        world.ip("link set eth0 down");
        assertTrue(running.exchangesMore(MESSAGES, 15_000), "by another guarded device");
        long before = forwarded();
        assertTrue(running.exchangesMore(MESSAGES, 10_000));
        assertTrue(forwarded() - before <= FEW, "past the stack: " + (forwarded() - before));
        routeWorldBy(2);
        assertTrue(running.exchangesMore(MESSAGES, 15_000), "by a device without program");
        final long endNs = System.nanoTime() + DEADLINE_NS;
        do {
          assertTrue(System.nanoTime() < endNs, "by the stack, both directions");
          LockSupport.parkNanos(Duration.ofSeconds(2).toNanos());
          before = forwarded();
          assertTrue(running.exchangesMore(MESSAGES, 10_000));
        } while (forwarded() - before < 2 * MESSAGES);
        assertEquals(1, server.connections());
      } finally {
        world.ip("link set eth0 up");
        addressIpv6(0);
      }
    }
  }

  /** Sends a datagram that opens a flow, runs the command, and sends a large one. */
  private void sendAround(String address, Runnable between) {
    final String script =
        """
        exec 3<>/dev/udp/%s/9
        echo first >&3; sleep 0.3; echo second >&3; echo ready; read -r
        head -c 1400 /dev/zero >&3; sleep 0.3; head -c 1400 /dev/zero >&3
        true
        """
            .formatted(address);
    final ProcessBuilder builder =
        new ProcessBuilder(alice.namespace().inside("bash", "-c", script));
    try {
      final Process process = builder.redirectErrorStream(true).start();
      final BufferedReader output = process.inputReader();
      String line = output.readLine();
      while (!"ready".equals(line)) { // the script may say that the port refused a line
        assertNotNull(line, "the script ends");
        line = output.readLine();
      }
      between.run();
      process.getOutputStream().write('\n');
      process.getOutputStream().close();
      output.transferTo(Writer.nullWriter());
      assertEquals(0, process.waitFor());
    } catch (IOException | InterruptedException failure) {
      throw new IllegalStateException(failure);
    }
  }

  @Test
  void shouldLetTheStackSayThatAPacketIsTooLarge() throws Exception {
    awaitRouting("BPF", "");
    for (final String address : WORLD) {
      sendAround(
          address,
          () -> {
            node.namespace().ip("link set net0 mtu 1300");
            world.ip("link set eth0 mtu 1300");
          });
      final String route = alice.namespace().exec("ip", "route", "get", address);
      assertTrue(route.contains("mtu 1300"), route);
      node.namespace().ip("link set net0 mtu 1500");
      world.ip("link set eth0 mtu 1500");
    }
  }

  @Test
  void shouldLetTheStackSayThatAPacketExpires() throws Exception {
    awaitRouting("BPF", "");
    sendAround(
        WORLD.get(0),
        () -> alice.namespace().ip("route replace 198.18.0.1 via 10.210.0.1 hoplimit 1"));
    final List<String> icmp =
        alice
            .namespace()
            .exec("cat", "/proc/net/snmp")
            .lines()
            .filter(l -> l.startsWith("Icmp: "))
            .toList();
    final int column = Arrays.asList(icmp.get(0).split(" ")).indexOf("InTimeExcds");
    assertTrue(Long.parseLong(icmp.get(1).split(" ")[column]) > 0, icmp::toString);
    sendAround(
        WORLD.get(1),
        () ->
            alice
                .namespace()
                .ip("-6 route replace 2001:db8:18::1 via fd00:210::1 dev eth0 hoplimit 1"));
    final String icmp6 = alice.namespace().exec("cat", "/proc/net/snmp6");
    assertTrue(icmp6.matches("(?s).*Icmp6InTimeExcds\\s+[1-9].*"), icmp6);
  }

  @Test
  void shouldRouteAsTheOptionSaysAndWarnWhereThatBypassesAFirewall() throws Exception {
    agent.terminate();
    agent = node.agent("--device", "net0,net1", "--masquerade=false", "--host-routing", "legacy");
    awaitRouting("Legacy", "--host-routing=legacy");
    assertInStack(ways().getFirst());
    agent.terminate();
    firewall();
    agent = node.agent("--device", "net0,net1", "--masquerade=false", "--host-routing", "bpf");
    awaitRouting("BPF", "--host-routing=bpf, flows bypass: nftables chain");
    final JsonNode status = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Warning", status.get("state").asString(), status::toString);
    assertTrue(status.get("msg").asString().startsWith("host-routing: BPF"), status::toString);
  }
}
