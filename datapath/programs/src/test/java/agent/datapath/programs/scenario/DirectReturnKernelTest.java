package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Flow;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.ServiceForwarding;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.Packets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of clients outside to a service with direct server return, whose backend is another host:
 * this node sends them there in an outer header.
 */
@KernelTest
class DirectReturnKernelTest {
  private static final int ID = 7;
  private static final int PORT = 30080;
  private static final int CLIENT = 40000;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";
  private static final int ETHERNET_BYTES = 14;
  private static final Server PEERS = new Server(PEER, PORT);
  private static final Server STRANGERS = new Server(STRANGER, PORT);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE);

  @AfterEach
  void close() {
    node.close();
  }

  private void serve(Family family, int protocol, Server... servers) {
    node.services(family)
        .forward(ServiceForwarding.DSR)
        .putOutside(ID, family.address(NODE), PORT, protocol, 0, servers);
  }

  private static IpPacket arriving(IpPacket packet) {
    return packet.from(ROUTER_MAC).to(DEVICE_MAC);
  }

  private static IpPacket query(Family family, int protocol, boolean isQuick) {
    final IpPacket packet = family.packet(FAR, NODE).payload("short");
    return arriving(slow(isQuick, Family.ports(packet, protocol, CLIENT, PORT)));
  }

  /** Returns the frame in which a frame of the client leaves; its hop limit is less by one. */
  private static byte[] outer(Family family, ScenarioHost from, ScenarioHost to, IpPacket inner) {
    return outer(family, family.address(from), to, inner.bytes());
  }

  private static byte[] outer(Family family, String from, ScenarioHost to, byte[] inner) {
    final byte[] payload = Arrays.copyOfRange(inner, ETHERNET_BYTES, inner.length);
    final IpPacket packet =
        family == Family.IPV4
            ? Packets.ipv4(from, to.ipv4).protocol(4)
            : Packets.ipv6(from, to.ipv6).protocol(41);
    return arriving(packet.payload(payload).ttl(64)).bytes();
  }

  private static void leaves(byte[] wanted, Outcome outcome) {
    assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
    assertEquals(DropReason.NONE, outcome.counted());
    assertArrayEquals(wanted, BalancerOutcome.withoutLabel(outcome.frame()), outcome::toString);
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendPacketsInAnOuterHeader(Family family) {
    for (final int protocol : new int[] {TCP, UDP, SCTP}) {
      serve(family, protocol, PEERS);
      for (final boolean isQuick : new boolean[] {true, false, true}) {
        final IpPacket query = query(family, protocol, isQuick);
        leaves(
            outer(family, NODE, PEER, query(family, protocol, isQuick).ttl(63)),
            node.fromNetwork(query));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAFlowOneLabelAndTheTrafficClassOfThePacket(Family family) {
    serve(family, UDP, PEERS);
    final byte[] marked = query(family, UDP, true).bytes();
    if (family == Family.IPV6) {
      marked[14] = 0x6b;
      marked[15] = (byte) 0x90;
    }
    final byte[] first = BalancerOutcome.withoutNumber(node.fromNetwork(marked).frame());
    assertArrayEquals(first, BalancerOutcome.withoutNumber(node.fromNetwork(marked).frame()));
    if (family == Family.IPV6) {
      assertEquals(0x6b, first[14]);
      assertEquals(0x90, first[15] & 0xf0);
      assertTrue((first[15] & 0xf | first[16] | first[17]) != 0, "the label of the outer header");
      assertEquals(0x90, first[55] & 0xff);
    }
  }

  @Test
  void shouldKeepTheIdentificationAndTheDontFragmentFlag() {
    serve(Family.IPV4, UDP, PEERS);
    final IpPacket query = query(Family.IPV4, UDP, true).id(4711).mayNotBeSplit();
    final byte[] frame = node.fromNetwork(query).frame();
    final byte[] payload = Arrays.copyOfRange(query.ttl(63).bytes(), ETHERNET_BYTES, 14 + 33);
    assertArrayEquals(
        arriving(Packets.ipv4(NODE.ipv4, PEER.ipv4))
            .protocol(4)
            .payload(payload)
            .id(4711)
            .mayNotBeSplit()
            .bytes(),
        frame);
  }

  /**
   * Outer datagrams that routers may split have one source for all clients, whose numbers are equal
   * (RFC 6864, section 4.2).
   */
  @Test
  void shouldNumberTheOuterDatagramsOfAllClients() {
    serve(Family.IPV4, UDP, PEERS);
    final Set<Integer> numbers = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        final IpPacket query = Packets.ipv4(client.ipv4, NODE.ipv4).id(4711).payloadOf(2000);
        for (final byte[] part : arriving(query.udp(CLIENT, PORT)).fragments(1280)) {
          final Outcome outcome = node.fromNetwork(part);
          assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
          assertTrue(numbers.add(BalancerOutcome.number(outcome.frame())), numbers::toString);
        }
      }
    }
    assertEquals(40, numbers.size());
  }

  /** Which have SNAT, as where the service says so. */
  @ParameterizedTest
  @EnumSource
  void shouldNotSendToAnotherPortInAnOuterHeader(Family family) {
    final Server other = new Server(PEER, PORT + 1);
    serve(family, UDP, other);
    final IpPacket relayed = family.packet(NODE, PEER).payload("short").udp(CLIENT, PORT + 1);
    node.fromNetwork(query(family, UDP, true)).leavesAs(arriving(relayed));
    node.services(family)
        .forward(ServiceForwarding.SNAT)
        .putOutside(ID, family.address(NODE), PORT, TCP, 0, PEERS);
    node.fromNetwork(query(family, TCP, true))
        .leavesAs(arriving(family.packet(NODE, PEER).payload("short").tcp(CLIENT, PORT).ack()));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveWorkloadsOfThisNodeAsTheyAre(Family family) {
    serve(family, UDP, new Server(BOB, PORT));
    node.fromNetwork(query(family, UDP, true))
        .passesUncountedAs(arriving(family.packet(FAR, BOB).payload("short").udp(CLIENT, PORT)));
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendOfAFlowAndMoveItWhereThatGoes(Family family) {
    serve(family, UDP, PEERS);
    final IpPacket query = query(family, UDP, true);
    final byte[] toPeer = outer(family, NODE, PEER, query(family, UDP, true).ttl(63));
    leaves(toPeer, node.fromNetwork(query));
    serve(family, UDP, STRANGERS);
    node.services(family)
        .forward(ServiceForwarding.SNAT)
        .putOutside(ID, family.address(NODE), PORT, UDP, 0, STRANGERS);
    node.raiseGeneration(0);
    for (int i = 0; i < 2; i++) {
      leaves(toPeer, node.fromNetwork(query));
    }
    serve(family, UDP, STRANGERS);
    node.services(family).state(ID, PEERS, BackendState.QUARANTINED);
    node.raiseGeneration(0);
    for (int i = 0; i < 2; i++) {
      leaves(
          outer(family, NODE, STRANGER, query(family, UDP, true).ttl(63)), node.fromNetwork(query));
    }
  }

  /** A connection counts as answered, and as ended where the client ends it. */
  @ParameterizedTest
  @EnumSource
  void shouldEndTheEntryWithTheConnection(Family family) {
    serve(family, TCP, PEERS);
    node.fromNetwork(arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).syn()));
    node.fromNetwork(query(family, TCP, true));
    final Flow open = node.flows().find(family, FAR, CLIENT, NODE, PORT, TCP);
    assertTrue(open.has(ConntrackFlag.SEEN_REPLY), open.toString());
    assertTrue(open.has(ConntrackFlag.SEEN_NON_SYN), open.toString());
    assertFalse(open.has(ConntrackFlag.SEEN_FIN_LOW), open.toString());
    node.fromNetwork(query(family, TCP, true).fin());
    final Flow closed = node.flows().find(family, FAR, CLIENT, NODE, PORT, TCP);
    assertTrue(closed.has(ConntrackFlag.SEEN_FIN_LOW), closed.toString());
    assertTrue(closed.has(ConntrackFlag.SEEN_FIN_HIGH), closed.toString());
    serve(family, TCP, STRANGERS);
    leaves(
        outer(family, NODE, STRANGER, family.packet(FAR, NODE).tcp(CLIENT, PORT).syn().ttl(63)),
        node.fromNetwork(arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).syn())));
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardErrorsAboutPacketsOfTheBackendToIt(Family family) {
    serve(family, UDP, PEERS);
    final IpPacket answer = family.packet(NODE, FAR).payload("short").udp(PORT, CLIENT);
    for (final ScenarioHost router : List.of(FAR, STRANGER)) {
      final IpPacket error =
          arriving(family.packet(router, NODE).icmpError(family.unreachableType(), 4, answer, 60));
      node.fromNetwork(query(family, UDP, true));
      leaves(outer(family, NODE, PEER, error.ttl(63)), node.fromNetwork(error.ttl(64)));
    }
    final IpPacket other = family.packet(HOST, FAR).payload("short").udp(PORT, CLIENT);
    node.fromNetwork(
            arriving(
                family.packet(STRANGER, NODE).icmpError(family.unreachableType(), 4, other, 60)))
        .passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendTheFragmentsOfADatagramToOneBackend(Family family) {
    serve(family, UDP, PEERS);
    final List<byte[]> sent = query(family, UDP, true).payloadOf(3000).fragments(1280);
    final List<byte[]> inner = query(family, UDP, true).payloadOf(3000).ttl(63).fragments(1280);
    assertEquals(3, sent.size());
    for (int i = 0; i < sent.size(); i++) {
      final byte[] frame = node.fromNetwork(sent.get(i)).frame();
      assertArrayEquals(
          outer(family, family.address(NODE), PEER, inner.get(i)),
          BalancerOutcome.withoutLabel(frame),
          "" + i);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatDoesNotFitTheOuterPacket(Family family) {
    final boolean isIpv4 = family == Family.IPV4;
    node.network().mtu(DEVICE, 1400);
    serve(family, UDP, PEERS);
    final int most = 1400 - (isIpv4 ? 20 + 28 : 40 + 48);
    for (final boolean isQuick : new boolean[] {true, true}) {
      final IpPacket fits = query(family, UDP, isQuick).mayNotBeSplit().payloadOf(most);
      assertEquals(DropReason.NONE, node.fromNetwork(fits).counted());
      final IpPacket large = query(family, UDP, isQuick).mayNotBeSplit().payloadOf(most + 1);
      final Outcome outcome = node.fromNetwork(large);
      assertEquals(Outcome.REDIRECT, outcome.action());
      assertEquals(DropReason.NOT_FORWARDABLE, outcome.counted());
      final int quoted = family.headers(true) + 8;
      final byte[] body = new byte[4 + quoted];
      final int mtu = isIpv4 ? 1380 : 1360;
      body[2] = (byte) (mtu >> 8);
      body[3] = (byte) mtu;
      System.arraycopy(large.bytes(), ETHERNET_BYTES, body, 4, quoted);
      final IpPacket answer =
          family.packet(NODE, FAR).id(0).mayNotBeSplit().from(DEVICE_MAC).to(ROUTER_MAC);
      assertArrayEquals(answer.icmp(isIpv4 ? 3 : 2, isIpv4 ? 4 : 0, body).bytes(), outcome.frame());
    }
    node.fromNetwork(query(family, UDP, true).ttl(1));
  }

  /** The stack fragments the outer packet, which has the address of the client as its source. */
  @Test
  void shouldHaveTheStackFragmentWhatDoesNotFitAndMayBeFragmented() {
    node.network().mtu(DEVICE, 1400);
    serve(Family.IPV4, UDP, PEERS);
    final IpPacket large = query(Family.IPV4, UDP, true).payloadOf(1400);
    final byte[] wanted = outer(Family.IPV4, FAR, PEER, large.ttl(63));
    final Outcome outcome = node.fromNetwork(large.ttl(64));
    assertEquals(Outcome.PASS, outcome.action());
    assertEquals(DropReason.NONE, outcome.counted());
    assertArrayEquals(wanted, BalancerOutcome.withoutNumber(outcome.frame()));
  }

  @ParameterizedTest
  @EnumSource
  void shouldRejectWhatItCannotSend(Family family) {
    serve(family, UDP, PEERS);
    node.network().route(PEER, "unreachable");
    assertEquals(DropReason.SERVICE_UNSERVED, node.fromNetwork(query(family, UDP, true)).counted());
    node.network().route(PEER, "dev " + ScenarioNetwork.name(DEVICE));
    node.guard(DEVICE); // without an address
    assertEquals(DropReason.SERVICE_UNSERVED, node.fromNetwork(query(family, UDP, true)).counted());
  }
}
