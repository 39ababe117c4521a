package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.PacketFlood;
import agent.testkit.Packets;
import agent.testkit.RawSocket;
import agent.testkit.UdpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * What workloads leave to each other and to the node where the stack masquerades: ports, and the
 * flows of protocols without them.
 */
@KernelTest
class AgentLegacySharesKernelTest {
  private static final int WAIT_MS = 3000;
  private static final int NOTHING_MS = 50;
  private static final int PORT = 5353;
  private static final int AT_ONCE = 100;
  private static final int SHARE = 31_744 / 100;

  /**
   * IPIP, GRE, ESP, L2TP, one that is not assigned, and AH, which is a header of others in IPv6.
   */
  private static final List<List<Integer>> PROTOCOLS =
      List.of(List.of(4, 47, 50, 115, 253, 51), List.of(4, 47, 50, 115, 253));

  private static final List<String> NODE = List.of("192.0.2.1", "2001:db8:2::1");
  private static final List<String> PEERS = List.of("203.0.113.", "2001:db8:113::");

  @TempDir Path programs;
  private TestNode node;
  private NetworkNamespace world;
  private AgentProcess agent;
  private TestWorkload alice;
  private int peers;

  @BeforeEach
  void start() throws IOException {
    node = new TestNode();
    world = WorldNetwork.connect(node);
    world.exec("sysctl", "-qw", "net.ipv6.ip_nonlocal_bind=1");
    world.ip("route add local 203.0.113.0/24 dev lo");
    world.ip("-6 route add local 2001:db8:113::/64 dev lo");
    node.namespace().ip("route add 203.0.113.0/24 via 192.0.2.2");
    node.namespace().ip("-6 route add 2001:db8:113::/64 via 2001:db8:2::2");
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Starts an agent whose stack masquerades by a tool: nft, or iptables of a variant. */
  private void startAgent(String tool) throws Exception {
    final String[] options = {
      "--device=net0", "--host-routing=legacy", "--masquerade-endpoint-share=1"
    };
    if (tool.equals("nft")) {
      agent = node.agent(options);
    } else {
      IptablesPrograms.offer(programs, tool.substring("iptables".length()));
      agent = node.launchWithPrograms(programs, options).ready();
    }
    alice = node.workload(agent, "alice", "app=alice");
  }

  /** Waits until the health of the shares says something. */
  private void awaitShares(String text) throws IOException {
    final long startNs = System.nanoTime();
    while (true) {
      final JsonNode health = agent.expect(200, "GET", "/health", null).json();
      for (final JsonNode module : health.get("modules")) {
        if (module.get("module-id").asString().equals("masquerade-ports")
            && module.get("message").asString().contains(text)) {
          assertEquals("Degraded", module.get("level").asString());
          return;
        }
      }
      assertTrue(System.nanoTime() - startNs < Duration.ofSeconds(20).toNanos(), health::toString);
      LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
    }
  }

  private void assertCounted() throws IOException {
    final String metrics = agent.expect(200, "GET", "/metrics/", null).text();
    assertFalse(
        metrics.contains("\"agent_masquerade_refused_flows_total\",\"value\":0.0"), metrics);
  }

  /** Sockets of a workload, the node and a host outside, of one protocol. */
  private final class Parties implements AutoCloseable {
    private final String peer;
    private final String own;
    private final RawSocket ofWorkload;
    private final RawSocket ofNode;
    private final RawSocket ofPeer;

    Parties(int family, int protocol) {
      peer = PEERS.get(family) + ++peers;
      own = NODE.get(family);
      final String address = family == 0 ? alice.ipv4() : alice.ipv6();
      ofWorkload = RawSocket.open(alice.namespace(), address, protocol);
      ofNode = RawSocket.open(node.namespace(), own, protocol);
      ofPeer = RawSocket.open(world, peer, protocol);
    }

    void assertSends(RawSocket from, String what) {
      from.send(peer, what);
      assertTrue(ofPeer.receives(what, WAIT_MS), () -> what + " to " + peer);
    }

    void assertIsRefused(String what) {
      ofWorkload.send(peer, what);
      assertFalse(ofPeer.receives(what, NOTHING_MS), () -> what + " to " + peer);
    }

    void assertAnswers(RawSocket to, RawSocket other, String what) {
      ofPeer.send(own, what);
      assertTrue(to.receives(what, WAIT_MS), () -> what + " of " + peer);
      assertFalse(other.receives(what, 10), () -> what + " of " + peer);
    }

    /** The node's flow lives, whatever the workload sends. */
    void assertNodeWins() {
      assertSends(ofNode, "node begins");
      assertAnswers(ofNode, ofWorkload, "answer to the node");
      assertIsRefused("workload tries");
      assertAnswers(ofNode, ofWorkload, "another answer to the node");
      assertSends(ofNode, "node goes on");
      assertAnswers(ofNode, ofWorkload, "last answer to the node");
    }

    @Override
    public void close() {
      ofWorkload.close();
      ofNode.close();
      ofPeer.close();
    }
  }

  private void leavesProtocolsWithoutPortsToTheNode() {
    for (int family = 0; family < 2; family++) {
      for (final int protocol : PROTOCOLS.get(family)) {
        try (Parties first = new Parties(family, protocol)) {
          first.assertSends(first.ofWorkload, "workload begins");
          first.assertAnswers(first.ofWorkload, first.ofNode, "answer to the workload");
          first.assertSends(first.ofWorkload, "workload goes on");
          first.assertNodeWins();
        }
        try (Parties second = new Parties(family, protocol)) {
          second.assertNodeWins();
        }
      }
      try (Parties listening = new Parties(family, PROTOCOLS.get(family).getFirst())) {
        listening.assertAnswers(listening.ofNode, listening.ofWorkload, "peer begins");
        listening.assertIsRefused("workload tries");
        listening.assertAnswers(listening.ofNode, listening.ofWorkload, "peer goes on");
      }
      assertErrorsReachTheWorkload(family);
    }
  }

  /** A host answers packets of a protocol that it does not know by an ICMP error (RFC 1122). */
  private void assertErrorsReachTheWorkload(int family) {
    final String peer = PEERS.get(family) + ++peers;
    final String address = family == 0 ? alice.ipv4() : alice.ipv6();
    final int icmp = family == 0 ? 1 : 58;
    try (RawSocket errors = RawSocket.open(alice.namespace(), address, icmp);
        RawSocket tunnel = RawSocket.open(alice.namespace(), address, 253)) {
      tunnel.send(peer, "not known");
      assertTrue(errors.receives("not known", WAIT_MS), peer);
    }
  }

  private void refusesProtocolsWithoutPorts() {
    for (int family = 0; family < 2; family++) {
      for (final int protocol : PROTOCOLS.get(family)) {
        try (Parties first = new Parties(family, protocol)) {
          first.assertIsRefused("workload begins");
          first.assertNodeWins();
        }
      }
    }
  }

  /** Sends datagrams of as many ports to a host, as fit the buffer of a socket. */
  private void flood(String host, int firstPort) {
    final boolean isIpv4 = host.indexOf(':') < 0;
    PacketFlood.send(
        alice.namespace(),
        "eth0",
        AT_ONCE,
        number ->
            (isIpv4 ? Packets.ipv4(alice.ipv4(), host) : Packets.ipv6(alice.ipv6(), host))
                .from(alice.veth().workloadMac())
                .to(alice.veth().hostMac())
                .udp(firstPort + number, PORT)
                .bytes());
  }

  /** Some ports to a host, to which others go on; and other hosts, to which the workload does. */
  private void boundsTheFlowsOfAWorkloadToAHost() throws Exception {
    final TestWorkload bob = node.workload(agent, "bob", "app=bob");
    for (int family = 0; family < 2; family++) {
      final String host = WorldNetwork.ADDRESSES.get(family);
      final String other = PEERS.get(family) + "9";
      try (UdpEchoServer udp = UdpEchoServer.start(world, host, PORT);
          UdpEchoServer another = UdpEchoServer.start(world, other, PORT)) {
        for (int first = 0; first < 2 * SHARE; first += AT_ONCE) {
          flood(host, 1024 + first);
          assertTrue(UdpStream.isAnswered(bob.namespace(), host, PORT, WAIT_MS), host);
          assertTrue(UdpStream.isAnswered(node.namespace(), host, PORT, WAIT_MS), host);
        }
        final int ofOthers = 2 * (1 + (2 * SHARE - 1) / AT_ONCE);
        assertEquals(SHARE + ofOthers, udp.datagrams(), host);
        assertTrue(UdpStream.isAnswered(alice.namespace(), other, PORT, WAIT_MS), other);
        assertEquals(1, another.datagrams());
      }
    }
  }

  /** INIT with the checksum that conntrack wants to see (RFC 9260). */
  private static byte[] sctpInit(int from, int to) {
    final ByteBuffer init = ByteBuffer.allocate(32);
    init.putShort((short) from).putShort((short) to).putInt(0).putInt(0);
    init.put((byte) 1).put((byte) 0).putShort((short) 20);
    init.putInt(7).putInt(65_536).putShort((short) 1).putShort((short) 1).putInt(9);
    final CRC32C crc = new CRC32C();
    crc.update(init.array());
    return init.putInt(8, Integer.reverseBytes((int) crc.getValue())).array();
  }

  private static int sctpSource(byte[] packet) {
    return Short.toUnsignedInt(ByteBuffer.wrap(packet).getShort(packet.length - 32));
  }

  private void givesAssociationsOfSctpPortsOfTheirOwn() {
    for (int family = 0; family < 2; family++) {
      try (Parties sctp = new Parties(family, 132)) {
        sctp.ofWorkload.send(sctp.peer, sctpInit(40_000, 4000));
        final int ofWorkload = sctpSource(sctp.ofPeer.receive(WAIT_MS).orElseThrow());
        assertTrue(ofWorkload < 32_768, "not a port of sockets of the node: " + ofWorkload);
        sctp.ofNode.send(sctp.peer, sctpInit(40_000, 4000));
        assertEquals(40_000, sctpSource(sctp.ofPeer.receive(WAIT_MS).orElseThrow()));
        assertNotEquals(40_000, ofWorkload);
      }
    }
  }

  /** In one run, since most of the time is that of its start. */
  @ParameterizedTest
  @ValueSource(strings = {"nft", "iptables", "iptables-legacy"})
  void shouldLeaveOthersAndTheNodeTheirFlows(String tool) throws Exception {
    startAgent(tool);
    if (tool.equals("nft")) {
      leavesProtocolsWithoutPortsToTheNode();
    } else {
      refusesProtocolsWithoutPorts();
    }
    awaitShares(" packets of protocols without ports");
    givesAssociationsOfSctpPortsOfTheirOwn();
    boundsTheFlowsOfAWorkloadToAHost();
    awaitShares(" packets beyond the port share of a workload");
    assertCounted();
  }
}
