package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpEchoServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * Workloads reach a network that has no route to them: it knows this node alone. So whatever is
 * answered was sent with the address of the node.
 */
@KernelTest
class AgentMasqueradeKernelTest {
  private static final int DENIED_MS = 400;
  private static final int PORT = 8080;
  private static final int FLOWS_OF_EACH = 5_000;
  private static final int FIRST_PORT = 2000;

  private TestNode node;
  private NetworkNamespace world;

  @BeforeEach
  void start() throws IOException {
    node = new TestNode();
    world = WorldNetwork.connect(node);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  void shouldReachANetworkThatKnowsTheNodeAlone() throws Exception {
    final AgentProcess agent = node.agent("--device", "net0");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final JsonNode status = agent.expect(200, "GET", "/healthz", null).json().get("masquerading");
    assertTrue(status.get("enabled").asBoolean(), status::toString);
    assertEquals("BPF", status.get("mode").asString());
    assertTrue(status.at("/enabledProtocols/ipv6").asBoolean());
    assertEquals("10.210.0.0/24", status.get("snat-exclusion-cidr-v4").asString());
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT)) {
      for (final String address : WorldNetwork.ADDRESSES) {
        try (TcpConnection running = TcpConnection.open(alice.namespace(), address, PORT);
            TcpConnection own = TcpConnection.open(node.namespace(), address, PORT)) {
          assertTrue(running.exchangesMore(50, 10_000), address + "\n" + agent.log());
          assertTrue(own.exchangesMore(50, 10_000), address);
        }
        alice.namespace().exec("ping", "-c", "3", "-i", "0.2", "-W", "5", address);
        alice.namespace().exec("ping", "-c", "2", "-i", "0.2", "-s", "8000", "-W", "5", address);
      }
      assertEquals(4, server.connections());
    }
  }

  /** The kernel copies packets for a generic XDP program, and the copies lack their frame. */
  @Test
  void shouldAnswerWorkloadsBehindAGenericPrefilter() throws Exception {
    final AgentProcess agent =
        node.agent("--device", "net0", "--prefilter-device", "net0", "--prefilter-mode", "generic");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT)) {
      for (final String address : WorldNetwork.ADDRESSES) {
        assertTrue(reaches(alice, address, 10_000), address);
        alice.namespace().exec("ping", "-c", "2", "-i", "0.2", "-W", "5", address);
      }
      assertEquals(2, server.connections());
    }
  }

  /** One that may load programs into its namespace marks its packets as the agent's do theirs. */
  @Test
  void shouldMasqueradeWhateverMarkAPacketHas(@TempDir Path directory) throws Exception {
    final AgentProcess agent = node.agent("--device", "net0");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final Path programs = directory.resolve("programs.o");
    try (InputStream elf = getClass().getResourceAsStream("/bpf/trivial.bpf.o")) {
      Files.copy(elf, programs);
    }
    alice.namespace().exec("tc", "qdisc", "add", "dev", "eth0", "clsact");
    final String filter =
        "tc filter add dev eth0 egress bpf da obj " + programs + " program pretend_complete";
    alice.namespace().exec(filter.split(" "));
    for (final String address :
        WorldNetwork.ADDRESSES) { // by the stack, as all that is no TCP or UDP
      alice.namespace().exec("ping", "-c", "2", "-i", "0.2", "-W", "5", address);
    }
  }

  @Test
  void shouldKeepConnectionsWhileTheAgentIsKilled() throws Exception {
    final AgentProcess agent = node.agent("--device", "net0");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT);
        TcpConnection ipv4 =
            TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(0), PORT);
        TcpConnection ipv6 =
            TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(1), PORT)) {
      assertTrue(ipv4.exchangesMore(20, 5000));
      assertTrue(ipv6.exchangesMore(20, 5000));
      agent.kill();
      assertTrue(ipv4.exchangesMore(20, 5000), "without the agent");
      assertTrue(ipv6.exchangesMore(20, 5000), "without the agent");
      try (TcpConnection another =
          TcpConnection.open(alice.namespace(), WorldNetwork.ADDRESSES.get(0), PORT)) {
        assertTrue(another.exchangesMore(20, 5000), "a new one without the agent");
      }
      node.agent("--device", "net0");
      assertTrue(ipv4.exchangesMore(20, 5000), "with the next agent");
      assertTrue(ipv6.exchangesMore(20, 5000), "with the next agent");
      assertEquals(3, server.connections());
    }
  }

  /**
   * Two workloads have the same ports, so that half of the flows get another one of their share.
   */
  @Test
  void shouldMasqueradeTenThousandFlowsToOneDestination() throws Exception {
    final AgentProcess agent = node.agent("--device", "net0", "--bpf-ct-global-any-max", "262144");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final TestWorkload bob = node.workload(agent, "bob", "app=bob");
    try (UdpEchoServer server = UdpEchoServer.start(world, WorldNetwork.ADDRESSES.get(0), PORT);
        DatagramChannel own = node.namespace().run(() -> bound(FIRST_PORT + 7))) {
      assertTrue(isAnswered(own, 1));
      for (final TestWorkload client : List.of(alice, bob)) {
        final int answered = client.namespace().run(AgentMasqueradeKernelTest::exchangeAll);
        assertEquals(FLOWS_OF_EACH, answered, client.namespace().name());
        assertTrue(isAnswered(own, 2), "the node's own");
      }
      assertTrue(server.datagrams() >= 2 * FLOWS_OF_EACH + 3);
    }
  }

  @Test
  void shouldKeepTheAddressOfWorkloadsWhereItIsAskedTo() throws Exception {
    final AgentProcess agent =
        node.agent(
            "--device",
            "net0",
            "--ipv4-native-routing-cidr=192.0.2.0/24",
            "--ipv6-native-routing-cidr=::/0");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT)) {
      assertFalse(reaches(alice, WorldNetwork.ADDRESSES.get(0), DENIED_MS), "by its own address");
      assertFalse(reaches(alice, WorldNetwork.ADDRESSES.get(1), DENIED_MS), "by its own address");
      routeBack();
      assertTrue(reaches(alice, WorldNetwork.ADDRESSES.get(0), 10_000));
      assertTrue(reaches(alice, WorldNetwork.ADDRESSES.get(1), 10_000));
      assertEquals(0, server.bytes(), "only connections");
    }
  }

  @Test
  void shouldKeepTheAddressOfWorkloadsWithoutMasquerading() throws Exception {
    final AgentProcess agent = node.agent("--device", "net0", "--masquerade=false");
    final TestWorkload alice = node.workload(agent, "alice", "app=alice");
    final JsonNode status = agent.expect(200, "GET", "/healthz", null).json().get("masquerading");
    assertFalse(status.get("enabled").asBoolean(), status::toString);
    assertEquals("Disabled", status.get("mode").asString());
    try (TcpEchoServer server = TcpEchoServer.start(world, PORT)) {
      assertFalse(reaches(alice, WorldNetwork.ADDRESSES.get(0), DENIED_MS));
      assertFalse(reaches(alice, WorldNetwork.ADDRESSES.get(1), DENIED_MS));
      routeBack();
      assertTrue(reaches(alice, WorldNetwork.ADDRESSES.get(0), 10_000));
      assertTrue(reaches(alice, WorldNetwork.ADDRESSES.get(1), 10_000));
      assertEquals(0, server.bytes(), "only connections");
    }
  }

  private void routeBack() {
    world.ip("route add 10.210.0.0/24 via 192.0.2.1", "route add fd00:210::/96 via 2001:db8:2::1");
  }

  private static boolean reaches(TestWorkload client, String address, int withinMs) {
    return TcpConnection.attempt(client.namespace(), address, PORT, withinMs)
        == TcpConnection.Outcome.CONNECTED;
  }

  private static DatagramChannel bound(int port) throws IOException {
    final DatagramChannel channel = DatagramChannel.open();
    channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
    channel.bind(new InetSocketAddress("0.0.0.0", port));
    channel.connect(
        new InetSocketAddress(InetAddress.ofLiteral(WorldNetwork.ADDRESSES.get(0)), PORT));
    channel.socket().setSoTimeout(2000);
    return channel;
  }

  /** Returns how many flows, each of a port of its own, get an answer. */
  private static int exchangeAll() throws IOException {
    int answered = 0;
    for (int i = 0; i < FLOWS_OF_EACH; i++) {
      try (DatagramChannel channel = bound(FIRST_PORT + i)) {
        answered += isAnswered(channel, i) ? 1 : 0;
      }
    }
    return answered;
  }

  private static boolean isAnswered(DatagramChannel channel, int number) throws IOException {
    final ByteBuffer sent = ByteBuffer.allocate(Integer.BYTES).putInt(0, number);
    final ByteBuffer received = ByteBuffer.allocate(Integer.BYTES);
    for (int attempt = 0; attempt < 3; attempt++) {
      channel.write(sent.rewind());
      channel.configureBlocking(false);
      final long startNs = System.nanoTime();
      while (System.nanoTime() - startNs < 2_000_000_000L) {
        if (channel.read(received.clear()) == Integer.BYTES && received.getInt(0) == number) {
          return true;
        }
        Thread.onSpinWait();
      }
    }
    return false;
  }
}
