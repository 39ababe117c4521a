package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
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
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.kernel.PortUsageArray;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Flows of workloads to the network, which leave with the address of this node. Each result is
 * compared with a packet that is built with the other address.
 */
@KernelTest
class MasqueradeKernelTest {
  private static final int PORT = 53;
  private static final int OWN = 40000;
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final List<ScenarioHost> PEERS = List.of(PEER, FAR, STRANGER);

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveFlowsTheAddressOfTheNodeInBothDirections(Family family) {
    for (final ScenarioHost peer : PEERS) {
      for (final int protocol : PROTOCOLS) {
        for (final boolean isQuick : new boolean[] {true, false}) {
          final int port = isQuick ? OWN : OWN + 1;
          node.fromWorkload(ALICE, sent(family, ALICE, port, peer, protocol, isQuick)).passes();
          node.forwardedToNetwork(sent(family, ALICE, port, peer, protocol, isQuick))
              .passesUncountedAs(shown(family, ALICE, port, peer, protocol, isQuick));
          for (int i = 0; i < 2; i++) {
            final IpPacket answer = answer(family, port, peer, protocol, isQuick);
            final IpPacket expected = back(family, ALICE, port, peer, protocol, isQuick);
            if (isQuick) {
              node.fromNetwork(answer).reachesAs(ALICE, expected);
              node.fromWorkload(ALICE, sent(family, ALICE, port, peer, protocol, true))
                  .leavesAs(shown(family, ALICE, port, peer, protocol, true));
            } else {
              node.fromNetwork(answer).passesUncountedAs(expected.from(answerMac()).to(DEVICE_MAC));
              node.forwardedToWorkload(ALICE, back(family, ALICE, port, peer, protocol, false))
                  .passes();
            }
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAFlowTheAddressOfTheDeviceThatItsTrafficClassLeavesBy(Family family) {
    node.masquerade(OTHER_DEVICE, HOST).network().routeByClass(0x10, PEER, OTHER_DEVICE);
    for (final ScenarioHost own : List.of(NODE, HOST)) {
      final int port = own == NODE ? OWN : OWN + 1;
      final int trafficClass = own == NODE ? 0 : 0x10;
      for (int i = 0; i < 2; i++) {
        final Outcome outcome =
            node.fromWorkload(
                ALICE, sent(family, ALICE, port, PEER, UDP, true).trafficClass(trafficClass));
        assertEquals(i == 0 ? Outcome.PASS : Outcome.REDIRECT, outcome.action());
      }
      assertNotNull(node.flows().find(family, own, port, PEER, PORT, UDP), own::toString);
    }
  }

  /** What an endpoint program has sent has the tuple of the other leg already. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveWhatIsMasqueradedAsItIs(Family family) {
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, TCP, true)).passes();
    node.forwardedToNetwork(shown(family, ALICE, OWN, PEER, TCP, true)).passesUncounted();
    node.forwardedToNetwork(sent(family, ALICE, OWN + 1, PEER, TCP, true)).passesUncounted();
  }

  /** The answers would go to the workload. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseASocketOfTheNodeTheTupleOfAMasqueradedFlow(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      for (final boolean isQuick : new boolean[] {true, false}) {
        node.toNetwork(slow(isQuick, packet(family, NODE, OWN, PEER, PORT, protocol)))
            .dropsFor(DropReason.TUPLE_IN_USE);
        node.toNetwork(slow(isQuick, packet(family, NODE, OWN + 1, PEER, PORT, protocol)))
            .passesUncounted();
      }
    }
    node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, OWN, PEER, PORT, UDP);
    node.toNetwork(packet(family, NODE, OWN, PEER, PORT, UDP)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      for (final boolean isQuick : new boolean[] {true, false}) {
        final IpPacket answer = answer(family, OWN, PEER, protocol, isQuick);
        assertEquals(0, node.checksummedFromNetwork(answer), "protocol " + protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveEachWorkloadAPortOfItsOwn(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, protocol, true)).passes();
      final int port = portOf(family, BOB, protocol);
      assertNotEquals(OWN, port);
      for (int i = 0; i < 2; i++) {
        node.fromNetwork(answer(family, OWN, PEER, protocol, true))
            .reachesAs(ALICE, back(family, ALICE, OWN, PEER, protocol, true));
        node.fromNetwork(packet(family, PEER, PORT, NODE, port, protocol).to(DEVICE_MAC))
            .reachesAs(BOB, back(family, BOB, OWN, PEER, protocol, true));
        node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, protocol, true))
            .leavesAs(
                packet(family, NODE, port, PEER, PORT, protocol).from(BOB.mac()).to(BOB.hostMac()));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateEchoAndItsIdentifier(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    node.forwardedToNetwork(family.packet(ALICE, PEER).echoRequest(7, 1))
        .passesUncountedAs(ofLink(ALICE, family.packet(NODE, PEER)).echoRequest(7, 1));
    node.fromWorkload(BOB, family.packet(BOB, PEER).echoRequest(7, 1)).passes();
    final byte[] other =
        node.forwardedToNetwork(family.packet(BOB, PEER).echoRequest(7, 1)).frame();
    final int at = other.length - 4;
    final int identifier = (other[at] & 0xff) << 8 | other[at + 1] & 0xff;
    assertNotEquals(7, identifier);
    node.forwardedToNetwork(family.packet(BOB, PEER).echoRequest(7, 2))
        .passesUncountedAs(ofLink(BOB, family.packet(NODE, PEER)).echoRequest(identifier, 2));
    for (final ScenarioHost client : List.of(ALICE, BOB)) {
      final int shown = client == ALICE ? 7 : identifier;
      node.fromNetwork(family.packet(PEER, NODE).to(DEVICE_MAC).echoReply(shown, 1))
          .passesUncountedAs(
              family.packet(PEER, client).from(answerMac()).to(DEVICE_MAC).echoReply(7, 1));
      node.forwardedToWorkload(client, family.packet(PEER, client).echoReply(7, 1)).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateFragmentsInBothDirections(Family family) {
    final List<byte[]> out =
        family.packet(ALICE, PEER).udp(OWN, PORT).payloadOf(8000).fragments(1480);
    final List<byte[]> shown =
        ofLink(ALICE, family.packet(NODE, PEER)).udp(OWN, PORT).payloadOf(8000).fragments(1480);
    for (int i = 0; i < out.size(); i++) {
      node.fromWorkload(ALICE, out.get(i)).passes();
      node.forwardedToNetwork(out.get(i)).passesUncountedAs(shown.get(i));
    }
    final List<byte[]> in =
        family.packet(PEER, NODE).to(DEVICE_MAC).udp(PORT, OWN).payloadOf(8000).fragments(1480);
    final List<byte[]> back =
        family
            .packet(PEER, ALICE)
            .from(answerMac())
            .to(DEVICE_MAC)
            .udp(PORT, OWN)
            .payloadOf(8000)
            .fragments(1480);
    for (int i = 0; i < in.size(); i++) {
      node.fromNetwork(in.get(i)).passesUncountedAs(back.get(i));
      node.forwardedToWorkload(1, ALICE, back.get(i)).passes();
    }
  }

  /** A router of the network tells that a packet does not get through, or the peer does. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateErrorsOfTheNetwork(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, protocol, true)).passes();
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      final int port = portOf(family, ALICE, protocol);
      final IpPacket about = packet(family, NODE, port, PEER, PORT, protocol);
      final IpPacket meant = packet(family, ALICE, OWN, PEER, PORT, protocol);
      for (final ScenarioHost sender : List.of(PEER, STRANGER)) {
        final int type = family.unreachableType();
        node.fromNetwork(family.packet(sender, NODE).to(DEVICE_MAC).icmpError(type, 4, about))
            .passesUncountedAs(
                family
                    .packet(sender, ALICE)
                    .from(answerMac())
                    .to(DEVICE_MAC)
                    .icmpError(type, 4, meant));
        node.forwardedToWorkload(ALICE, family.packet(sender, ALICE).icmpError(type, 4, meant))
            .passes();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateErrorsAboutEcho(Family family) {
    node.fromWorkload(BOB, family.packet(BOB, PEER).echoRequest(7, 1)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, 1)).passes();
    final byte[] sent =
        node.forwardedToNetwork(family.packet(ALICE, PEER).echoRequest(7, 1)).frame();
    final int at = sent.length - 4;
    final int identifier = (sent[at] & 0xff) << 8 | sent[at + 1] & 0xff;
    assertNotEquals(7, identifier);
    final int type = family.unreachableType();
    final IpPacket about = family.packet(NODE, PEER).echoRequest(identifier, 1);
    final IpPacket meant = family.packet(ALICE, PEER).echoRequest(7, 1);
    node.fromNetwork(family.packet(STRANGER, NODE).to(DEVICE_MAC).icmpError(type, 1, about))
        .passesUncountedAs(
            family
                .packet(STRANGER, ALICE)
                .from(answerMac())
                .to(DEVICE_MAC)
                .icmpError(type, 1, meant));
  }

  /** The workload refuses an answer, or the node cannot deliver it. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateErrorsAboutAnswers(Family family) {
    final int type = family.unreachableType();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    final IpPacket about = packet(family, PEER, PORT, ALICE, OWN, UDP);
    final IpPacket meant = packet(family, PEER, PORT, NODE, OWN, UDP);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).icmpError(type, 3, about)).passes();
    node.forwardedToNetwork(family.packet(ALICE, PEER).icmpError(type, 3, about))
        .passesUncountedAs(ofLink(ALICE, family.packet(NODE, PEER)).icmpError(type, 3, meant));
    node.forwardedToNetwork(family.packet(ScenarioHost.HOST, PEER).icmpError(type, 1, about))
        .passesUncountedAs(family.packet(ScenarioHost.HOST, PEER).icmpError(type, 1, meant));
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAFlowThatFindsNoPort(Family family) {
    node.fromWorkload(ALICE, packet(family, ALICE, OWN, PEER, PORT, SCTP)).passes();
    node.fromWorkload(BOB, packet(family, BOB, OWN, PEER, PORT, SCTP))
        .dropsFor(DropReason.PORTS_EXHAUSTED);
    node.fromWorkload(BOB, packet(family, BOB, OWN + 1, PEER, PORT, SCTP)).passes();
    node.forwardedToNetwork(packet(family, ALICE, OWN, PEER, PORT, SCTP))
        .passesUncountedAs(ofLink(ALICE, packet(family, NODE, OWN, PEER, PORT, SCTP)));
  }

  /** A flow is dropped only after many tries: half of the ports of a destination are taken here. */
  @ParameterizedTest
  @EnumSource
  void shouldFindAPortForEachOfManyFlowsOfOnePort(Family family) {
    final Set<Integer> ports = new HashSet<>();
    for (int i = 0; i < 500; i++) {
      for (final ScenarioHost client : List.of(ALICE, BOB)) {
        node.fromWorkload(client, sent(family, client, 2000 + i, PEER, UDP, true)).passes();
        ports.add(portOf(family, client, 2000 + i, PEER, UDP));
      }
    }
    assertEquals(1000, ports.size());
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotTakeThePortOfASocketOfTheNode(Family family) throws Exception {
    final ServerSocket listener =
        node.network()
            .call(
                () -> {
                  final ServerSocket socket = new ServerSocket();
                  socket.bind(new InetSocketAddress("::", OWN));
                  return socket;
                });
    final DatagramSocket datagrams =
        node.network().call(() -> new DatagramSocket(new InetSocketAddress("::", OWN)));
    try (listener;
        datagrams) {
      for (final int protocol : PROTOCOLS) {
        node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
        assertNotEquals(OWN, portOf(family, ALICE, protocol));
      }
    }
  }

  /** The kernel does not know which of its ports flows of workloads have. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveSocketsOfTheNodeTheirPorts(Family family) {
    node.socketPorts(OWN, 20_000);
    for (final int protocol : PROTOCOLS) {
      for (final int port : new int[] {OWN, OWN + 19_999}) {
        node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, protocol, true)).passes();
        final int shown = portOf(family, ALICE, port, PEER, protocol);
        assertTrue(shown < OWN || shown >= OWN + 20_000, () -> "port " + shown);
        node.fromNetwork(answer(family, shown, PEER, protocol, true))
            .reachesAs(ALICE, back(family, ALICE, port, PEER, protocol, true));
        node.fromWorkload(ALICE, sent(family, ALICE, port, FAR, protocol, true)).passes();
        assertEquals(shown, portOf(family, ALICE, port, FAR, protocol), "of another destination");
      }
      for (final int port : new int[] {OWN - 1, OWN + 20_000}) {
        node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, protocol, true)).passes();
        assertEquals(port, portOf(family, ALICE, port, PEER, protocol));
      }
    }
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(OWN, 1)).passes();
    node.forwardedToNetwork(family.packet(ALICE, PEER).echoRequest(OWN, 1))
        .passesUncountedAs(ofLink(ALICE, family.packet(NODE, PEER)).echoRequest(OWN, 1));
  }

  /** Two ports are left for flows, which the endpoint that has them gives to its later ones. */
  @ParameterizedTest
  @EnumSource
  void shouldNeverTakeAPortOfSocketsOfTheNode(Family family) {
    node.socketPorts(1025, 64_510);
    final Set<Integer> ports = new HashSet<>();
    for (final int protocol : PROTOCOLS) {
      for (int i = 0; i < 10; i++) {
        node.fromWorkload(ALICE, sent(family, ALICE, OWN + i, PEER, protocol, true)).passes();
        ports.add(portOf(family, ALICE, OWN + i, PEER, protocol));
      }
      assertEquals(Set.of(1024, 65_535), ports);
      node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, protocol, true))
          .dropsFor(DropReason.PORTS_EXHAUSTED);
    }
    try (PortUsageArray usage = new PortUsageArray(node.map("port_usage"))) {
      assertEquals(List.of(16L, 0L), List.of(usage.replaced(ALICE.id), usage.refused(ALICE.id)));
      assertEquals(List.of(0L, 2L), List.of(usage.replaced(BOB.id), usage.refused(BOB.id)));
      assertEquals(List.of(16L, 2L), List.of(usage.replaced(0), usage.refused(0)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveThePortOfTheOldestFlowWithoutAnswer(Family family) {
    node.socketPorts(1027, 64_509);
    final int[] ports = new int[4];
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, sent(family, ALICE, OWN + i, PEER, UDP, true)).passes();
      ports[i] = portOf(family, ALICE, OWN + i, PEER, UDP);
    }
    node.fromNetwork(answer(family, ports[0], PEER, UDP, true));
    node.flows().expireAfter(Duration.ofSeconds(40), family, NODE, ports[0], PEER, PORT, UDP);
    node.flows().expireAfter(Duration.ofSeconds(50), family, NODE, ports[2], PEER, PORT, UDP);
    node.fromWorkload(ALICE, sent(family, ALICE, OWN + 3, PEER, UDP, true)).passes();
    assertEquals(ports[2], portOf(family, ALICE, OWN + 3, PEER, UDP));
    final Flows.Flow ended = node.flows().find(family, ALICE, OWN + 2, PEER, PORT, UDP);
    assertTrue(ended.lifetime().isNegative(), "its packets do not leave from the port any more");
    node.fromNetwork(answer(family, ports[0], PEER, UDP, true))
        .reachesAs(ALICE, back(family, ALICE, OWN, PEER, UDP, true));
    node.fromNetwork(answer(family, ports[1], PEER, UDP, true))
        .reachesAs(ALICE, back(family, ALICE, OWN + 1, PEER, UDP, true));
    node.fromNetwork(answer(family, ports[2], PEER, UDP, true))
        .reachesAs(ALICE, back(family, ALICE, OWN + 3, PEER, UDP, true));
    node.fromWorkload(ALICE, sent(family, ALICE, OWN + 2, PEER, UDP, true))
        .dropsFor(DropReason.PORTS_EXHAUSTED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheConnectionsThatAreEstablished(Family family) {
    node.socketPorts(1025, 64_510);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, tcp(family, OWN + i).syn()).passes();
      final int port = portOf(family, ALICE, OWN + i, PEER, TCP);
      node.fromNetwork(reply(family, port).syn().ack());
      if (i == 0) {
        node.fromWorkload(ALICE, tcp(family, OWN).ack());
      }
    }
    final int first = portOf(family, ALICE, OWN, PEER, TCP);
    node.flows().expireAfter(Duration.ofSeconds(1), family, NODE, first, PEER, PORT, TCP);
    node.fromWorkload(ALICE, tcp(family, OWN + 2).syn()).passes();
    assertNotEquals(first, portOf(family, ALICE, OWN + 2, PEER, TCP));
    assertEquals(first, portOf(family, ALICE, OWN, PEER, TCP));
  }

  /** One opens flows from every port, as many as it can; the sockets of the node know none. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveOthersAndTheNodeTheirPortsWhereOneTakesAll(Family family) {
    final int left = 800;
    final int first = 1024 + left;
    final int count = 65_536 - first;
    node.socketPorts(first, count).portShares(4);
    for (final int protocol : PROTOCOLS) {
      final byte[] frame = opening(family, ALICE, OWN, protocol).bytes();
      final int at = family == Family.IPV4 ? 34 : 54;
      for (int port = 1024; port < 1024 + 2 * left; port++) { // more than all that are free
        frame[at] = (byte) (port >> 8);
        frame[at + 1] = (byte) port;
        assertEquals(Outcome.PASS, node.actionFor(ALICE, frame), "port " + port);
      }
      for (int i = 0; i < 100; i++) {
        node.fromWorkload(BOB, opening(family, BOB, OWN + i, protocol)).passes();
        final int port = first + i * 277 % count;
        node.toNetwork(packet(family, NODE, port, PEER, PORT, protocol)).passesUncounted();
      }
      final Set<Integer> shown = new HashSet<>();
      for (int i = 0; i < 50; i++) {
        shown.add(portOf(family, BOB, OWN + i, PEER, protocol));
      }
      assertEquals(50, shown.size());
      int taken = 0;
      for (int port = 1024; port < first; port++) {
        taken += node.flows().find(family, NODE, port, PEER, PORT, protocol) == null ? 0 : 1;
      }
      final int share = left / 4;
      assertTrue(taken > share && taken < 2 * share + 100, "ports " + taken);
    }
    try (PortUsageArray usage = new PortUsageArray(node.map("port_usage"))) {
      assertTrue(usage.replaced(ALICE.id) > 500, () -> "replaced " + usage.replaced(ALICE.id));
      assertEquals(0, usage.refused(0));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeTheSamePortForAFlowThatIsOpenedAgain(Family family) {
    node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, UDP, true)).passes();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    final int port = portOf(family, ALICE, UDP);
    node.flows().expireAfter(Duration.ofSeconds(-1), family, ALICE, OWN, PEER, PORT, UDP);
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    assertEquals(port, portOf(family, ALICE, UDP));
    node.flows().delete(family, ALICE, OWN, PEER, PORT, UDP);
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    assertEquals(port, portOf(family, ALICE, UDP));
  }

  /** The packet itself, whose answer would reach no workload: a peer may send nothing more. */
  @ParameterizedTest
  @EnumSource
  void shouldOpenAFlowAgainWhoseOtherEntryWasEvicted(Family family) {
    for (final int protocol : PROTOCOLS) {
      for (final boolean isQuick : new boolean[] {true, false}) {
        final int port = isQuick ? OWN : OWN + 1;
        node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, protocol, isQuick)).passes();
        node.fromNetwork(answer(family, port, PEER, protocol, isQuick));
        node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, protocol, isQuick));
        node.flows().delete(family, NODE, port, PEER, PORT, protocol);
        idle(family, port, protocol);
        node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, protocol, isQuick)).passes();
        assertNotNull(node.flows().find(family, NODE, port, PEER, PORT, protocol));
        node.fromNetwork(answer(family, port, PEER, protocol, true))
            .reachesAs(ALICE, back(family, ALICE, port, PEER, protocol, true));
      }
    }
    final IpPacket echo = family.packet(ALICE, PEER).echoRequest(7, 1);
    node.fromWorkload(ALICE, echo).passes();
    node.flows().delete(family, NODE, 7, PEER, 0, family.icmp());
    node.fromWorkload(ALICE, echo).passes();
    assertNotNull(node.flows().find(family, NODE, 7, PEER, 0, family.icmp()));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotTakeTheEntryOfAnotherFlowForItsOwn(Family family) {
    for (final boolean isQuick : new boolean[] {true, false}) {
      final int port = isQuick ? OWN : OWN + 1;
      node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, UDP, true)).passes();
      node.flows().delete(family, NODE, port, PEER, PORT, UDP);
      node.fromWorkload(BOB, sent(family, BOB, port, PEER, UDP, true)).passes();
      idle(family, port, UDP);
      node.fromWorkload(ALICE, sent(family, ALICE, port, PEER, UDP, isQuick)).passes();
      final int shown = portOf(family, ALICE, port, PEER, UDP);
      assertNotEquals(port, shown);
      node.fromNetwork(answer(family, shown, PEER, UDP, true))
          .reachesAs(ALICE, back(family, ALICE, port, PEER, UDP, true));
      node.fromNetwork(answer(family, port, PEER, UDP, true))
          .reachesAs(BOB, back(family, BOB, port, PEER, UDP, true));
    }
  }

  /** Leaves a flow of Alice idle for two seconds, after which a packet renews its entry. */
  private void idle(Family family, int port, int protocol) {
    final Flows.Flow flow = node.flows().find(family, ALICE, port, PEER, PORT, protocol);
    node.flows()
        .expireAfter(flow.lifetime().minusSeconds(2), family, ALICE, port, PEER, PORT, protocol);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeThePortOfAFlowThatHasExpired(Family family) {
    node.fromWorkload(BOB, sent(family, BOB, OWN, PEER, UDP, true)).passes();
    node.flows().expireAfter(Duration.ofSeconds(-1), family, NODE, OWN, PEER, PORT, UDP);
    node.fromNetwork(answer(family, OWN, PEER, UDP, true)).passesUncounted();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    assertEquals(OWN, portOf(family, ALICE, UDP));
    node.fromNetwork(answer(family, OWN, PEER, UDP, true))
        .reachesAs(ALICE, back(family, ALICE, OWN, PEER, UDP, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatTheFlowDoes(Family family) {
    for (final boolean isQuick : new boolean[] {true, false}) {
      final int port = isQuick ? OWN : OWN + 1;
      node.fromWorkload(ALICE, slow(isQuick, tcp(family, port).syn()));
      lifetime(family, port, 60);
      node.fromNetwork(slow(isQuick, reply(family, port).syn().ack()));
      node.fromWorkload(ALICE, slow(isQuick, tcp(family, port).ack()));
      lifetime(family, port, 21_600);
      node.fromWorkload(ALICE, slow(isQuick, tcp(family, port).fin().ack()));
      node.fromNetwork(slow(isQuick, reply(family, port).fin().ack()));
      lifetime(family, port, 10);
    }
  }

  /** The policy of the workload judges its flow, not what the network sees of it. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveAnswersToThePolicyWhereItHasChanged(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      node.raiseGeneration(ALICE.id);
      node.fromNetwork(answer(family, OWN, PEER, protocol, true))
          .passesUncountedAs(
              back(family, ALICE, OWN, PEER, protocol, true).from(answerMac()).to(DEVICE_MAC));
      node.forwardedToWorkload(ALICE, back(family, ALICE, OWN, PEER, protocol, true)).passes();
      node.fromNetwork(answer(family, OWN, PEER, protocol, true))
          .reachesAs(ALICE, back(family, ALICE, OWN, PEER, protocol, true));
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true)).passes();
      node.fromNetwork(answer(family, OWN, PEER, protocol, true))
          .reachesAs(ALICE, back(family, ALICE, OWN, PEER, protocol, true));
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true))
          .leavesAs(shown(family, ALICE, OWN, PEER, protocol, true));
      node.policyOf(ALICE).denyTo(PEER, protocol, PORT);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) { // the verdict that the answer renews, and the one that it finds
        node.fromNetwork(answer(family, OWN, PEER, protocol, true))
            .passesUncountedAs(
                back(family, ALICE, OWN, PEER, protocol, true).from(answerMac()).to(DEVICE_MAC));
        node.forwardedToWorkload(ALICE, back(family, ALICE, OWN, PEER, protocol, true))
            .dropsFor(DropReason.POLICY_DENY_RULE);
        node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, protocol, true))
            .dropsFor(DropReason.POLICY_DENY_RULE);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverAnswersToTheNextOwnerOfAnAddress(Family family) {
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    node.reassign(ALICE);
    node.fromNetwork(answer(family, OWN, PEER, UDP, true)).passesUncounted();
    node.fromNetwork(answer(family, OWN, PEER, UDP, false)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheAddressesOfOtherFlows(Family family) {
    node.forwardedToWorkload(ALICE, packet(family, PEER, PORT, ALICE, OWN, TCP)).passes();
    node.forwardedToNetwork(sent(family, ALICE, OWN, PEER, TCP, true)).passesUncounted();
    node.network().route(BOB, "dev " + ScenarioNetwork.name(DEVICE));
    node.network().resolve(BOB, DEVICE);
    node.fromWorkload(ALICE, packet(family, ALICE, OWN, BOB, PORT, UDP)).reaches(BOB);
    assertNull(node.flows().find(family, NODE, OWN, BOB, PORT, UDP));
    node.fromWorkload(ALICE, packet(family, ALICE, OWN, NODE, PORT, UDP)).passes();
    final IpPacket synAck = family.packet(ALICE, FAR).tcp(PORT, OWN).syn().ack();
    node.fromWorkload(ALICE, synAck).passes();
    node.forwardedToNetwork(synAck).passesUncounted();
    node.without(EndpointOption.HOST_ROUTING);
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, STRANGER, UDP, true)).passes();
    node.forwardedToNetwork(sent(family, ALICE, OWN, STRANGER, UDP, true)).passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAFlowItsAddressThatHadItBefore(Family family) {
    node.guard(DEVICE); // without addresses
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    node.masquerade(DEVICE, NODE);
    for (int i = 0; i < 2; i++) {
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
      node.forwardedToNetwork(sent(family, ALICE, OWN, PEER, UDP, true)).passesUncounted();
    }
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).leaves();
    assertNull(node.flows().find(family, NODE, OWN, PEER, PORT, UDP));
  }

  /** A packet that the stack has to answer with an error or to split keeps its source for that. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheSourceOfPacketsForTheStack(Family family) {
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true)).passes();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true).ttl(1)).passes();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true).payloadOf(1500)).passes();
    node.fromWorkload(ALICE, sent(family, ALICE, OWN, PEER, UDP, true).to("02:00:00:00:77:77"))
        .passes();
  }

  private void lifetime(Family family, int port, long seconds) {
    for (final ScenarioHost host : List.of(ALICE, NODE)) {
      final Flows.Flow flow = node.flows().find(family, host, port, PEER, PORT, TCP);
      assertNotNull(flow, host + " port " + port);
      assertEquals(seconds, flow.lifetime().toSeconds(), 2, host + " port " + port);
      assertEquals(host, flow.initiator());
    }
  }

  private int portOf(Family family, ScenarioHost client, int protocol) {
    return portOf(family, client, OWN, PEER, protocol);
  }

  /** Returns the port that the outside sees of a flow. */
  private int portOf(
      Family family, ScenarioHost client, int port, ScenarioHost peer, int protocol) {
    final byte[] frame =
        node.forwardedToNetwork(sent(family, client, port, peer, protocol, true)).frame();
    final int at = family == Family.IPV4 ? 34 : 54;
    return (frame[at] & 0xff) << 8 | frame[at + 1] & 0xff;
  }

  private static String answerMac() {
    return PEER.hostMac();
  }

  private static IpPacket tcp(Family family, int port) {
    return family.packet(ALICE, PEER).tcp(port, PORT);
  }

  private static IpPacket reply(Family family, int port) {
    return family.packet(PEER, NODE).to(DEVICE_MAC).tcp(PORT, port);
  }

  private static IpPacket opening(Family family, ScenarioHost from, int port, int protocol) {
    return protocol == TCP
        ? family.packet(from, PEER).tcp(port, PORT).syn()
        : family.packet(from, PEER).udp(port, PORT);
  }

  private static IpPacket ofLink(ScenarioHost workload, IpPacket packet) {
    return packet.from(workload.mac()).to(workload.hostMac());
  }

  private static IpPacket sent(
      Family family,
      ScenarioHost from,
      int port,
      ScenarioHost peer,
      int protocol,
      boolean isQuick) {
    return slow(isQuick, packet(family, from, port, peer, PORT, protocol));
  }

  private static IpPacket shown(
      Family family,
      ScenarioHost from,
      int port,
      ScenarioHost peer,
      int protocol,
      boolean isQuick) {
    return ofLink(from, slow(isQuick, packet(family, NODE, port, peer, PORT, protocol)));
  }

  private static IpPacket answer(
      Family family, int port, ScenarioHost peer, int protocol, boolean isQuick) {
    return slow(isQuick, packet(family, peer, PORT, NODE, port, protocol)).to(DEVICE_MAC);
  }

  private static IpPacket back(
      Family family, ScenarioHost to, int port, ScenarioHost peer, int protocol, boolean isQuick) {
    return slow(isQuick, packet(family, peer, PORT, to, port, protocol));
  }

  private static IpPacket packet(
      Family family, ScenarioHost from, int fromPort, ScenarioHost to, int toPort, int protocol) {
    final IpPacket packet = family.packet(from, to).payload("an odd number of b.");
    return switch (protocol) {
      case TCP -> packet.tcp(fromPort, toPort).ack();
      case UDP -> packet.udp(fromPort, toPort);
      default -> packet.sctp(fromPort, toPort);
    };
  }
}
