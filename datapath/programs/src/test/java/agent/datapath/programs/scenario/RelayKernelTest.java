package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNetwork.OTHER_DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Flow;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of clients outside to a service whose backend is another host: this node sends them there
 * with an address of its own, and the answers back.
 */
@KernelTest
class RelayKernelTest {
  private static final int ID = 7;
  private static final int PORT = 30080;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int MARKED = 0x10;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final Server PEERS = new Server(PEER, SERVED);
  private static final Server STRANGERS = new Server(STRANGER, SERVED);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE);

  @AfterEach
  void close() {
    node.close();
  }

  /** Either order of each tuple: frontends and clients have addresses above and below others. */
  @ParameterizedTest
  @EnumSource
  void shouldRelayInBothDirections(Family family) {
    for (final ScenarioHost frontend : List.of(NODE, HOST)) {
      for (final int protocol : PROTOCOLS) {
        serve(family, frontend, protocol, PEERS);
        for (final ScenarioHost client : List.of(FAR, STRANGER)) {
          for (final boolean isQuick : new boolean[] {true, false, true}) {
            node.fromNetwork(query(family, client, frontend, protocol, isQuick))
                .leavesAs(relayed(family, protocol, CLIENT, isQuick));
            node.fromNetwork(answer(family, protocol, CLIENT, isQuick))
                .leavesAs(shown(family, frontend, client, protocol, isQuick));
          }
          node.flows().delete(family, client, CLIENT, frontend, PORT, protocol);
          node.flows().delete(family, NODE, CLIENT, PEER, SERVED, protocol);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, PEERS);
      node.fromNetwork(query(family, FAR, NODE, protocol, true));
      for (final boolean isQuick : new boolean[] {false, true, false}) {
        assertEquals(
            0, node.checksummedFromNetwork(query(family, FAR, NODE, protocol, isQuick)), "query");
        assertEquals(
            0, node.checksummedFromNetwork(answer(family, protocol, CLIENT, isQuick)), "answer");
      }
    }
  }

  /** Its checksum covers no address, and its packets keep their ports. */
  @ParameterizedTest
  @EnumSource
  void shouldRelaySctp(Family family) {
    serve(family, NODE, SCTP, new Server(PEER, PORT));
    node.fromNetwork(arriving(family.packet(FAR, NODE).sctp(CLIENT, PORT)))
        .leavesAs(arriving(family.packet(NODE, PEER).sctp(CLIENT, PORT)));
    node.fromNetwork(arriving(family.packet(PEER, NODE).sctp(PORT, CLIENT)))
        .leavesAs(arriving(family.packet(NODE, FAR).sctp(PORT, CLIENT)));
    node.fromNetwork(arriving(family.packet(STRANGER, NODE).sctp(CLIENT, PORT)))
        .dropsFor(DropReason.PORTS_EXHAUSTED);
  }

  /** The backend knows both clients by the address of the node. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveEachClientAPortOfItsOwn(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, PEERS);
      final int first = portOf(family, FAR, protocol);
      final int second = portOf(family, STRANGER, protocol);
      assertEquals(CLIENT, first);
      assertNotEquals(first, second);
      for (int i = 0; i < 2; i++) {
        node.fromNetwork(answer(family, protocol, first, true))
            .leavesAs(shown(family, NODE, FAR, protocol, true));
        node.fromNetwork(answer(family, protocol, second, true))
            .leavesAs(shown(family, NODE, STRANGER, protocol, true));
      }
      assertEquals(second, portOf(family, STRANGER, protocol));
      node.flows().delete(family, STRANGER, CLIENT, NODE, PORT, protocol);
      assertEquals(second, portOf(family, STRANGER, protocol), "the same flow");
      node.flows().delete(family, NODE, second, PEER, SERVED, protocol);
      node.fromNetwork(answer(family, protocol, second, true)).passesUncounted();
    }
  }

  private int portOf(Family family, ScenarioHost client, int protocol) {
    final Outcome outcome = node.fromNetwork(query(family, client, NODE, protocol, true));
    assertEquals(Outcome.REDIRECT, outcome.action());
    return outcome.parsed().sourcePort();
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAFlowAnotherBackendWhereItsOwnHasGone(Family family) {
    serve(family, NODE, UDP, PEERS);
    final IpPacket query = query(family, FAR, NODE, UDP, true);
    node.fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
    node.services(family).state(ID, PEERS, BackendState.TERMINATING);
    serve(family, NODE, UDP, STRANGERS);
    node.services(family).state(ID, PEERS, BackendState.TERMINATING);
    node.raiseGeneration(0);
    for (int i = 0; i < 2; i++) {
      node.fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
    }
    node.services(family).state(ID, PEERS, null);
    node.fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
    node.raiseGeneration(0);
    for (int i = 0; i < 2; i++) {
      node.fromNetwork(query)
          .leavesAs(arriving(packet(family, NODE, STRANGER, UDP, CLIENT, SERVED, true)));
    }
  }

  /** A change of other backends costs one packet the slow path. */
  @ParameterizedTest
  @EnumSource
  void shouldBeQuickAgainWhereABackendIsKept(Family family) {
    serve(family, NODE, UDP, PEERS);
    final IpPacket query = query(family, FAR, NODE, UDP, true);
    node.fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
    node.raiseGeneration(0);
    node.fromNetwork(query.ttl(64)).leavesAs(relayed(family, UDP, CLIENT, true));
    serve(family, NODE, UDP, STRANGERS);
    node.services(family).state(ID, PEERS, null); // which the quick path does not ask
    node.fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendEachDirectionByItsDevice(Family family) {
    node.masquerade(OTHER_DEVICE, HOST);
    for (final ScenarioHost frontend : List.of(NODE, HOST)) {
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        node.network().route(client, byDevice(OTHER_DEVICE));
        serve(family, frontend, TCP, PEERS);
        for (final boolean isQuick : new boolean[] {true, false, true}) {
          node.fromNetwork(query(family, client, frontend, TCP, isQuick));
          final Flow query = node.flows().find(family, client, CLIENT, frontend, PORT, TCP);
          assertEquals(client, query.initiator());
          assertEquals(DEVICE, query.responderId());
        }
        final Flow answers = node.flows().find(family, NODE, CLIENT, PEER, SERVED, TCP);
        assertEquals(NODE, answers.initiator());
        assertEquals(OTHER_DEVICE, answers.initiatorId());
        node.flows().delete(family, NODE, CLIENT, PEER, SERVED, TCP);
      }
    }
  }

  /** About once a second. */
  @ParameterizedTest
  @EnumSource
  void shouldFollowARouteThatChanges(Family family) {
    serve(family, NODE, TCP, PEERS);
    final IpPacket query = query(family, FAR, NODE, TCP, true);
    node.fromNetwork(query);
    node.masquerade(OTHER_DEVICE, HOST).network().route(PEER, byDevice(OTHER_DEVICE));
    node.flows().expireAfter(Duration.ofSeconds(30), family, FAR, CLIENT, NODE, PORT, TCP);
    node.fromNetwork(query).leavesAs(relayed(family, TCP, CLIENT, true));
    assertEquals(OTHER_DEVICE, entries(family).getFirst().responderId());
  }

  private static String byDevice(int ifindex) {
    return "dev " + ScenarioNetwork.name(ifindex);
  }

  @ParameterizedTest
  @EnumSource
  void shouldRejectWhatItCannotRelay(Family family) {
    serve(family, NODE, UDP, PEERS);
    final IpPacket query = query(family, FAR, NODE, UDP, true);
    node.masquerade(ScenarioNode.LOOPBACK_IFINDEX, NODE); // which receives the packets
    node.network().route(PEER, "unreachable");
    isRejected(query);
    node.network().route(PEER, byDevice(OTHER_DEVICE));
    isRejected(query);
    node.network().route(PEER, byDevice(DEVICE));
    node.network().route(FAR, "unreachable");
    isRejected(query);
    node.network().route(FAR, byDevice(OTHER_DEVICE));
    isRejected(query);
    node.network().route(FAR, byDevice(DEVICE));
    node.guard(DEVICE); // without an address
    isRejected(query);
    node.masquerade(DEVICE, NODE).fromNetwork(query).leavesAs(relayed(family, UDP, CLIENT, true));
  }

  private void isRejected(IpPacket query) {
    final Outcome outcome = node.fromNetwork(query);
    assertEquals(Outcome.REDIRECT, outcome.action());
    assertEquals(DropReason.SERVICE_UNSERVED, outcome.counted());
  }

  @ParameterizedTest
  @EnumSource
  void shouldRelayTheFragmentsOfADatagram(Family family) {
    serve(family, NODE, UDP, PEERS);
    for (int round = 0; round < 2; round++) {
      final List<byte[]> sent = fragments(query(family, FAR, NODE, UDP, true), 0);
      final List<byte[]> relayed = fragments(relayed(family, UDP, CLIENT, true), 1);
      final List<byte[]> answer = fragments(answer(family, UDP, CLIENT, true), 0);
      final List<byte[]> shown = fragments(shown(family, NODE, FAR, UDP, true), 1);
      assertEquals(3, sent.size());
      for (int i = 0; i < sent.size(); i++) {
        assertArrayEquals(relayed.get(i), node.fromNetwork(sent.get(i)).frame(), "fragment " + i);
        assertArrayEquals(shown.get(i), node.fromNetwork(answer.get(i)).frame(), "answer " + i);
      }
    }
  }

  private static List<byte[]> fragments(IpPacket packet, int hops) {
    return packet.ttl(64 - hops).payloadOf(3000).fragments(1280);
  }

  /** Who has sent the packet that an error quotes gets it, and finds the packet as it was sent. */
  @ParameterizedTest
  @EnumSource
  void shouldRelayErrors(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, PEERS);
      final IpPacket sent = query(family, FAR, NODE, protocol, true);
      final IpPacket relayed = relayed(family, protocol, CLIENT, true);
      final IpPacket answer = answer(family, protocol, CLIENT, true);
      final IpPacket shown = shown(family, NODE, FAR, protocol, true);
      node.fromNetwork(sent).leavesAs(relayed); // the hop limits of both are the same from here
      sent.ttl(63);
      node.fromNetwork(error(family, PEER, NODE, relayed)).leavesAs(error(family, NODE, FAR, sent));
      node.fromNetwork(error(family, STRANGER, NODE, relayed))
          .leavesAs(error(family, STRANGER, FAR, sent));
      node.fromNetwork(error(family, FAR, NODE, shown)).leavesAs(error(family, NODE, PEER, answer));
      node.fromNetwork(error(family, STRANGER, NODE, shown))
          .leavesAs(error(family, STRANGER, PEER, answer));
      node.fromNetwork(error(family, STRANGER, HOST, shown)).passesUncounted();
    }
  }

  private static IpPacket error(Family family, ScenarioHost from, ScenarioHost to, IpPacket about) {
    return arriving(family.packet(from, to).icmpError(family.unreachableType(), 1, about, 60));
  }

  /** As a router does, since the stack cannot: for the packets of both ends. */
  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatItCannotSendOn(Family family) {
    final boolean isIpv4 = family == Family.IPV4;
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, PEERS);
      node.network().mtu(DEVICE, 1500);
      for (final boolean isQuick : new boolean[] {true, false}) {
        final IpPacket dying = query(family, FAR, NODE, protocol, true).ttl(1);
        rejects(
            dying,
            refusal(family, FAR, isIpv4 ? 11 : 3, 0, 0, dying, true),
            DropReason.NOT_FORWARDABLE);
        node.fromNetwork(query(family, FAR, NODE, protocol, true))
            .leavesAs(relayed(family, protocol, CLIENT, true));
        final IpPacket answer = answer(family, protocol, CLIENT, isQuick).payloadOf(1400);
        node.network().mtu(DEVICE, 1300);
        rejects(
            answer,
            refusal(family, PEER, isIpv4 ? 3 : 2, isIpv4 ? 4 : 0, 1300, answer, isQuick),
            DropReason.NOT_FORWARDABLE);
        node.network().mtu(DEVICE, 1500);
      }
    }
  }

  private void rejects(IpPacket packet, IpPacket refusal, DropReason reason) {
    final Outcome outcome = node.fromNetwork(packet);
    assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
    assertEquals(reason, outcome.counted());
    assertArrayEquals(refusal.bytes(), outcome.frame());
    assertTrue(outcome.parsed().checksumsAreRight(), "checksums");
  }

  /** Quotes the IP header and eight bytes. */
  private static IpPacket refusal(
      Family family,
      ScenarioHost to,
      int type,
      int code,
      int mtu,
      IpPacket about,
      boolean isQuick) {
    final int quoted = family.headers(isQuick) + 8;
    final byte[] body = new byte[4 + quoted];
    body[2] = (byte) (mtu >> 8);
    body[3] = (byte) mtu;
    System.arraycopy(about.bytes(), 14, body, 4, quoted);
    return family
        .packet(NODE, to)
        .id(0)
        .mayNotBeSplit()
        .from(DEVICE_MAC)
        .to(ROUTER_MAC)
        .icmp(type, code, body);
  }

  /** Its answers would go to the client. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseASocketOfTheNodeTheTupleOfARelayedFlow(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, PEERS);
      node.fromNetwork(query(family, FAR, NODE, protocol, true));
      node.toNetwork(packet(family, NODE, PEER, protocol, CLIENT, SERVED, true))
          .dropsFor(DropReason.TUPLE_IN_USE);
      node.toNetwork(packet(family, NODE, PEER, protocol, CLIENT + 1, SERVED, true))
          .passesUncounted();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatChanges(Family family) {
    serve(family, NODE, TCP, PEERS);
    for (final boolean isQuick : new boolean[] {true, false, true}) {
      node.fromNetwork(query(family, FAR, NODE, TCP, isQuick));
    }
    for (final Flow entry : entries(family)) {
      assertFalse(entry.has(ConntrackFlag.SEEN_REPLY), entry.toString());
    }
    node.fromNetwork(answer(family, TCP, CLIENT, false));
    for (final Flow entry : entries(family)) {
      assertTrue(entry.has(ConntrackFlag.SEEN_REPLY), entry.toString());
    }
    node.fromNetwork(query(family, FAR, NODE, TCP, true).fin());
    for (final Flow entry : entries(family)) {
      assertTrue(
          entry.has(ConntrackFlag.SEEN_FIN_LOW) || entry.has(ConntrackFlag.SEEN_FIN_HIGH),
          entry.toString());
    }
    node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, CLIENT, PEER, SERVED, TCP);
    node.fromNetwork(answer(family, TCP, CLIENT, true)).passesUncounted();
  }

  private List<Flow> entries(Family family) {
    return List.of(
        node.flows().find(family, FAR, CLIENT, NODE, PORT, TCP),
        node.flows().find(family, NODE, CLIENT, PEER, SERVED, TCP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldSelectAgainWhereAConnectionIsOpenedAgain(Family family) {
    serve(family, NODE, TCP, PEERS);
    node.fromNetwork(arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).rst())).passesUncounted();
    assertNull(node.flows().find(family, FAR, CLIENT, NODE, PORT, TCP), "a reset opens nothing");
    final IpPacket syn = arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).syn());
    node.fromNetwork(syn).leavesAs(arriving(family.packet(NODE, PEER).tcp(CLIENT, SERVED).syn()));
    node.fromNetwork(arriving(family.packet(PEER, NODE).tcp(SERVED, CLIENT).rst().ack()));
    serve(family, NODE, TCP, STRANGERS);
    node.fromNetwork(syn)
        .leavesAs(arriving(family.packet(NODE, STRANGER).tcp(CLIENT, SERVED).syn()));
  }

  /** Workloads of this node are served as before, with the address of the client. */
  @ParameterizedTest
  @EnumSource
  void shouldNotRelayToWorkloadsOfThisNode(Family family) {
    serve(family, NODE, UDP, new Server(BOB, SERVED));
    node.fromNetwork(query(family, FAR, NODE, UDP, true))
        .passesUncountedAs(arriving(packet(family, FAR, BOB, UDP, CLIENT, SERVED, true)));
  }

  /** Also where packets of two classes are of one flow. The other device takes no large ones. */
  @ParameterizedTest
  @EnumSource
  void shouldSendByTheRouteOfTheTrafficClass(Family family) {
    serve(family, NODE, UDP, PEERS);
    node.masquerade(OTHER_DEVICE, NODE).network().routeByClass(MARKED, PEER, OTHER_DEVICE);
    node.network().mtu(OTHER_DEVICE, 1300);
    for (final ScenarioHost client : List.of(FAR, STRANGER)) {
      for (final boolean isQuick : new boolean[] {true, false}) {
        assertWay(family, client, MARKED | 1, isQuick, OTHER_DEVICE);
        assertWay(family, client, 0, isQuick, DEVICE);
        assertWay(family, client, MARKED, isQuick, OTHER_DEVICE);
        node.flows().expireAfter(Duration.ofSeconds(30), family, client, CLIENT, NODE, PORT, UDP);
        assertWay(family, client, 2, isQuick, DEVICE);
        node.flows().expireAfter(Duration.ofSeconds(30), family, client, CLIENT, NODE, PORT, UDP);
        assertWay(family, client, MARKED, isQuick, OTHER_DEVICE);
      }
    }
  }

  private void assertWay(
      Family family, ScenarioHost client, int trafficClass, boolean isQuick, int device) {
    final Outcome large =
        node.fromNetwork(
            query(family, client, NODE, UDP, isQuick).payloadOf(1400).trafficClass(trafficClass));
    assertEquals(
        device == DEVICE ? DropReason.NONE : DropReason.NOT_FORWARDABLE,
        large.counted(),
        large::toString);
    assertEquals(
        DropReason.NONE,
        node.fromNetwork(query(family, client, NODE, UDP, isQuick).trafficClass(trafficClass))
            .counted());
    assertEquals(device, node.flows().find(family, client, CLIENT, NODE, PORT, UDP).responderId());
  }

  /** An answer takes the route of its own class to the client, not that of the query. */
  @ParameterizedTest
  @EnumSource
  void shouldSendAnswersByTheRouteOfTheirTrafficClass(Family family) {
    serve(family, NODE, UDP, PEERS);
    node.masquerade(OTHER_DEVICE, NODE).network().routeByClass(MARKED, FAR, OTHER_DEVICE);
    node.network().mtu(OTHER_DEVICE, 1300);
    node.fromNetwork(query(family, FAR, NODE, UDP, true).trafficClass(MARKED))
        .leavesAs(relayed(family, UDP, CLIENT, true).trafficClass(MARKED));
    for (int i = 0; i < 4; i++) {
      final IpPacket large = answer(family, UDP, CLIENT, i < 2).payloadOf(1400);
      assertEquals(
          DropReason.NOT_FORWARDABLE, node.fromNetwork(large.trafficClass(MARKED)).counted());
      assertEquals(DropReason.NONE, node.fromNetwork(large.trafficClass(0)).counted());
    }
  }

  private void serve(Family family, ScenarioHost frontend, int protocol, Server... servers) {
    node.services(family).putOutside(ID, family.address(frontend), PORT, protocol, 0, servers);
  }

  private static IpPacket query(
      Family family, ScenarioHost client, ScenarioHost frontend, int protocol, boolean isQuick) {
    return arriving(packet(family, client, frontend, protocol, CLIENT, PORT, isQuick));
  }

  private static IpPacket relayed(Family family, int protocol, int port, boolean isQuick) {
    return arriving(packet(family, NODE, PEER, protocol, port, SERVED, isQuick));
  }

  private static IpPacket answer(Family family, int protocol, int port, boolean isQuick) {
    return arriving(packet(family, PEER, NODE, protocol, SERVED, port, isQuick));
  }

  private static IpPacket shown(
      Family family, ScenarioHost frontend, ScenarioHost client, int protocol, boolean isQuick) {
    return arriving(packet(family, frontend, client, protocol, PORT, CLIENT, isQuick));
  }

  private static IpPacket arriving(IpPacket packet) {
    return packet.from(ROUTER_MAC).to(DEVICE_MAC);
  }

  private static IpPacket packet(
      Family family,
      ScenarioHost from,
      ScenarioHost to,
      int protocol,
      int fromPort,
      int toPort,
      boolean isQuick) {
    final IpPacket packet = family.packet(from, to).payload("short");
    return slow(isQuick, Family.ports(packet, protocol, fromPort, toPort));
  }
}
