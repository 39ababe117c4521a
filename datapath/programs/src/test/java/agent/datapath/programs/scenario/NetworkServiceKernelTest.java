package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Flow;
import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Packets of clients outside to a service, whose backends are workloads or this node. */
@KernelTest
class NetworkServiceKernelTest {
  private static final int ID = 7;
  private static final int PORT = 30080;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final Server BOBS = new Server(BOB, SERVED);
  private static final Server ALICES = new Server(ALICE, SERVED);
  private static final Server NODES = new Server(HOST, SERVED);

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  /** Either order of each tuple: frontends and clients have addresses above and below others. */
  @ParameterizedTest
  @EnumSource
  void shouldServeClientsByWorkloadsPastTheStack(Family family) {
    node.routed();
    for (final ScenarioHost frontend : List.of(NODE, HOST)) {
      for (final int protocol : PROTOCOLS) {
        serve(family, frontend, protocol, BOBS);
        for (final ScenarioHost client : List.of(PEER, FAR)) {
          open(family, client, frontend, protocol, BOBS);
          for (int i = 0; i < 2; i++) {
            node.fromNetwork(query(family, client, frontend, protocol, true))
                .reachesAs(BOB, served(family, client, protocol, BOBS, true));
            node.fromWorkload(BOB, answer(family, client, protocol, BOBS, true))
                .leavesAs(
                    packet(family, frontend, client, protocol, PORT, CLIENT, true)
                        .from(BOB.mac())
                        .to(BOB.hostMac()));
          }
          assertEquals(
              0, node.checksummedFromNetwork(query(family, client, frontend, protocol, true)));
          assertEquals(
              client,
              node.flows().find(family, client, CLIENT, frontend, PORT, protocol).initiator());
          node.flows().delete(family, client, CLIENT, BOB, SERVED, protocol);
        }
      }
    }
  }

  /** The first packet, the headers that the quick parser does not read, and all without bypass. */
  @ParameterizedTest
  @EnumSource
  void shouldServeClientsThroughTheStack(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, BOBS);
      for (final boolean isQuick : new boolean[] {true, false, true}) {
        final IpPacket served = served(family, STRANGER, protocol, BOBS, isQuick);
        node.fromNetwork(query(family, STRANGER, NODE, protocol, isQuick))
            .passesUncountedAs(served);
        node.forwardedToWorkload(BOB, served).passes();
        final IpPacket answer = answer(family, STRANGER, protocol, BOBS, isQuick);
        node.fromWorkload(BOB, answer).passes();
        node.toNetwork(answer)
            .passesUncountedAs(
                packet(family, NODE, STRANGER, protocol, PORT, CLIENT, isQuick)
                    .from(BOB.mac())
                    .to(BOB.hostMac()));
      }
    }
  }

  /** Its checksum covers no address, and its packets keep their ports. */
  @ParameterizedTest
  @EnumSource
  void shouldServeClientsOfSctp(Family family) {
    serve(family, NODE, SCTP, new Server(BOB, PORT));
    node.fromNetwork(arriving(family.packet(FAR, NODE).sctp(CLIENT, PORT)))
        .passesUncountedAs(arriving(family.packet(FAR, BOB).sctp(CLIENT, PORT)));
    node.toNetwork(family.packet(BOB, FAR).sctp(PORT, CLIENT))
        .passesUncountedAs(
            family.packet(NODE, FAR).sctp(PORT, CLIENT).from(BOB.mac()).to(BOB.hostMac()));
  }

  @ParameterizedTest
  @EnumSource
  void shouldServeClientsByTheNodeItself(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, NODES);
      for (final boolean isQuick : new boolean[] {true, false, true}) {
        node.fromNetwork(query(family, STRANGER, NODE, protocol, isQuick))
            .passesUncountedAs(served(family, STRANGER, protocol, NODES, isQuick));
        node.toNetwork(answer(family, STRANGER, protocol, NODES, isQuick))
            .passesUncountedAs(packet(family, NODE, STRANGER, protocol, PORT, CLIENT, isQuick));
      }
      assertTrue(
          frontend(family, STRANGER, protocol).has(ConntrackFlag.SEEN_REPLY),
          "an answer changes the entry of the client, too");
      assertTrue(backend(family, STRANGER, protocol, NODES).has(ConntrackFlag.SEEN_REPLY));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldServeEveryAddressOfTheNodeWhereTheFrontendNamesNone(Family family) {
    node.services(family).putOutside(ID, unspecified(family), PORT, UDP, 0, BOBS);
    node.fromNetwork(query(family, FAR, HOST, UDP, true))
        .passesUncountedAs(served(family, FAR, UDP, BOBS, true));
    node.fromNetwork(query(family, FAR, STRANGER, UDP, true)).passesUncounted();
    node.fromNetwork(query(family, FAR, ALICE, UDP, true)).passesUncounted();
    node.services(family).putOutside(8, family.address(HOST), PORT, UDP, 0, ALICES);
    node.fromNetwork(query(family, PEER, HOST, UDP, true))
        .passesUncountedAs(served(family, PEER, UDP, ALICES, true));
  }

  /** The backend could not tell the packets of the two flows apart. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseASecondFlowToTheSameBackend(Family family) {
    serve(family, NODE, UDP, BOBS);
    serve(family, HOST, UDP, BOBS);
    open(family, PEER, NODE, UDP, BOBS);
    node.fromNetwork(query(family, PEER, HOST, UDP, true)).dropsFor(DropReason.TUPLE_IN_USE);
    open(family, PEER, NODE, UDP, BOBS);
  }

  /** Workloads reach the service by the address of the node, too. */
  @ParameterizedTest
  @EnumSource
  void shouldServeWorkloadsWhereTheFrontendNamesNoAddress(Family family) {
    node.with(ALICE, EndpointOption.SERVICES);
    node.services(family).putInside(ID, unspecified(family), PORT, UDP, BOBS);
    node.fromWorkload(ALICE, packet(family, ALICE, HOST, UDP, CLIENT, PORT, true))
        .reachesAs(BOB, packet(family, ALICE, BOB, UDP, CLIENT, SERVED, true));
    node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, UDP, CLIENT, PORT, true)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveOtherPacketsAsTheyAre(Family family) {
    node.services(family).put(ID, NODE, PORT, UDP, 0, BOBS);
    serve(family, HOST, UDP, BOBS);
    node.fromNetwork(query(family, FAR, NODE, UDP, true)).passesUncounted(); // inside alone
    serve(family, NODE, UDP, BOBS);
    node.fromNetwork(query(family, FAR, NODE, TCP, true)).passesUncounted();
    node.fromNetwork(packet(family, FAR, NODE, UDP, CLIENT, PORT + 1, true).to(DEVICE_MAC))
        .passesUncounted();
    node.toNetwork(packet(family, BOB, FAR, UDP, SERVED, CLIENT, true)).passesUncounted();
    node.fromNetwork(family.packet(FAR, NODE).echoRequest(7, 1).to(DEVICE_MAC)).passesUncounted();
    serve(family, NODE, TCP, BOBS);
    node.fromNetwork(family.packet(FAR, NODE).tcp(CLIENT, PORT).rst().to(DEVICE_MAC))
        .passesUncounted();
    assertNull(frontend(family, FAR, TCP), "a reset opens nothing");
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatPolicyDeniesAndLetItPassOnceItIsAllowed(Family family) {
    node.routed();
    node.policyOf(BOB).revokeAll(PolicyDirection.INGRESS);
    serve(family, NODE, UDP, BOBS);
    for (int i = 0; i < 3; i++) {
      isDenied(family);
    }
    node.policyOf(BOB).allowFrom(PEER, UDP, SERVED);
    node.raiseGeneration(BOB.id);
    open(family, PEER, NODE, UDP, BOBS);
    node.fromNetwork(query(family, PEER, NODE, UDP, true))
        .reachesAs(BOB, served(family, PEER, UDP, BOBS, true));
    node.policyOf(BOB).revokeFrom(PEER, UDP, SERVED);
    node.raiseGeneration(BOB.id);
    for (int i = 0; i < 3; i++) {
      isDenied(family);
    }
  }

  private void isDenied(Family family) {
    node.fromNetwork(query(family, PEER, NODE, UDP, true))
        .passesUncountedAs(served(family, PEER, UDP, BOBS, true));
    node.forwardedToWorkload(BOB, served(family, PEER, UDP, BOBS, true))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldRejectWhatNoBackendOfThisNodeTakes(Family family) {
    for (final Server[] servers : new Server[][] {{}, {new Server(PEER, SERVED)}}) {
      serve(family, NODE, UDP, servers);
      serve(family, NODE, TCP, servers);
      final IpPacket datagram = query(family, FAR, NODE, UDP, true);
      final boolean isIpv4 = family == Family.IPV4;
      rejects(
          datagram,
          rejection(family)
              .icmpError(family.unreachableType(), isIpv4 ? 3 : 4, datagram, isIpv4 ? 28 : 48));
      rejects(
          family.packet(FAR, NODE).tcp(CLIENT, PORT).syn().sequence(7).from(ROUTER_MAC),
          rejection(family).tcp(PORT, CLIENT).window(0).rst().sequence(0).ack(8));
      assertNull(frontend(family, FAR, UDP));
      assertNull(frontend(family, FAR, TCP));
    }
  }

  /** Hosts outside share what one entry lets pass; another has its own. */
  @ParameterizedTest
  @EnumSource
  void shouldLimitTheRejectionsOfASecondAndRejectNoFrontend(Family family) {
    serve(family, NODE, UDP);
    final byte[] frame = query(family, FAR, NODE, UDP, true).to(DEVICE_MAC).bytes();
    int answers = 0;
    for (int i = 0; i < 500; i++) {
      answers += node.fromNetwork(frame).action() == Outcome.REDIRECT ? 1 : 0;
    }
    assertTrue(answers >= 100 && answers <= 200, answers + " answers");
    final byte[] other = query(family, PEER, NODE, UDP, true).to(DEVICE_MAC).bytes();
    assertEquals(Outcome.REDIRECT, node.fromNetwork(other).action());
    node.services(family).putOutside(ID + 1, family.address(PEER), CLIENT, UDP, 0);
    node.fromNetwork(other).dropsFor(DropReason.SERVICE_UNSERVED);
  }

  /** The answer leaves by the device, to the router from which the packet came. */
  private void rejects(IpPacket packet, IpPacket answer) {
    final Outcome outcome = node.fromNetwork(packet.to(DEVICE_MAC));
    assertEquals(Outcome.REDIRECT, outcome.action());
    assertEquals(DropReason.SERVICE_UNSERVED, outcome.counted());
    assertArrayEquals(answer.bytes(), outcome.frame());
  }

  private static IpPacket rejection(Family family) {
    return family.packet(NODE, FAR).id(0).mayNotBeSplit().from(DEVICE_MAC).to(ROUTER_MAC);
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAFlowAnotherBackendWhereItsOwnHasGone(Family family) {
    node.routed();
    serve(family, NODE, UDP, BOBS);
    open(family, PEER, NODE, UDP, BOBS);
    serve(family, NODE, UDP, ALICES);
    node.services(family).state(ID, BOBS, null);
    node.raiseGeneration(BOB.id);
    open(family, PEER, NODE, UDP, ALICES);
    node.fromNetwork(query(family, PEER, NODE, UDP, true))
        .reachesAs(ALICE, served(family, PEER, UDP, ALICES, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheFlowsOfABackendThatTerminates(Family family) {
    serve(family, NODE, UDP, BOBS);
    open(family, PEER, NODE, UDP, BOBS);
    serve(family, NODE, UDP, ALICES);
    node.services(family).state(ID, BOBS, BackendState.TERMINATING);
    node.raiseGeneration(BOB.id);
    open(family, PEER, NODE, UDP, BOBS);
    open(family, FAR, NODE, UDP, ALICES);
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveAClientItsBackendAgainWhereTheServiceHasAffinity(Family family) {
    node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, 600, ALICES, BOBS);
    final String first = destination(family, PEER, CLIENT);
    for (int port = 1; port < 40; port++) {
      assertEquals(first, destination(family, PEER, CLIENT + port), "of the same client");
    }
    node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, 0, ALICES, BOBS);
    int others = 0;
    for (int port = 100; port < 140; port++) {
      others += destination(family, PEER, CLIENT + port).equals(first) ? 0 : 1;
    }
    assertNotEquals(0, others, "without affinity");
    assertNotEquals(40, others, "without affinity");
    for (final ScenarioHost other : List.of(FAR, STRANGER)) {
      int port = 200;
      while (destination(family, other, CLIENT + port).equals(first)) {
        port++;
      }
      final int differing = port;
      node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, 600, ALICES, BOBS);
      node.flows().delete(family, other, CLIENT + differing, NODE, PORT, UDP);
      assertNotEquals(first, destination(family, other, CLIENT + differing), "of another client");
      node.services(family).putOutside(ID, family.address(NODE), PORT, UDP, 0, ALICES, BOBS);
    }
  }

  private String destination(Family family, ScenarioHost client, int port) {
    return node.fromNetwork(packet(family, client, NODE, UDP, port, PORT, true).to(DEVICE_MAC))
        .parsed()
        .destination();
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheFragmentsOfADatagram(Family family) {
    serve(family, NODE, UDP, BOBS);
    final List<byte[]> sent = fragments(query(family, FAR, NODE, UDP, true));
    final List<byte[]> served = fragments(served(family, FAR, UDP, BOBS, true));
    final List<byte[]> answer = fragments(answer(family, FAR, UDP, BOBS, true));
    final List<byte[]> shown =
        fragments(
            packet(family, NODE, FAR, UDP, PORT, CLIENT, true).from(BOB.mac()).to(BOB.hostMac()));
    assertEquals(3, sent.size());
    for (int i = 0; i < sent.size(); i++) {
      assertArrayEquals(served.get(i), node.fromNetwork(sent.get(i)).frame(), "fragment " + i);
      assertArrayEquals(shown.get(i), node.toNetwork(answer.get(i)).frame(), "answer " + i);
    }
  }

  private static List<byte[]> fragments(IpPacket packet) {
    return packet.payloadOf(3000).fragments(1280);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesOfAFlowToTheNodeItselfWhatChanges(Family family) {
    serve(family, NODE, TCP, NODES);
    node.fromNetwork(query(family, FAR, NODE, TCP, true));
    node.toNetwork(answer(family, FAR, TCP, NODES, true));
    node.fromNetwork(query(family, FAR, NODE, TCP, true).fin());
    for (final Flow entry : List.of(frontend(family, FAR, TCP), backend(family, FAR, TCP, NODES))) {
      assertTrue(
          entry.has(ConntrackFlag.SEEN_FIN_LOW) || entry.has(ConntrackFlag.SEEN_FIN_HIGH),
          entry.toString());
    }
  }

  /** The backend's leg of one service has the frontend of another. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheAnswersOfAnotherFlowAsTheyAre(Family family) {
    serve(family, NODE, UDP, NODES);
    node.fromNetwork(query(family, FAR, NODE, UDP, true));
    node.services(family).putOutside(8, family.address(HOST), SERVED, UDP, 0, BOBS);
    node.fromNetwork(arriving(packet(family, FAR, HOST, UDP, CLIENT, SERVED, true)))
        .passesUncounted();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSelectAgainWhereAFlowHasExpired(Family family) {
    node.anyLifetime(0);
    serve(family, NODE, UDP, BOBS);
    node.fromNetwork(query(family, FAR, NODE, UDP, true))
        .passesUncountedAs(served(family, FAR, UDP, BOBS, true));
    node.toNetwork(answer(family, FAR, UDP, BOBS, true)).passesUncounted();
    serve(family, NODE, UDP, ALICES);
    node.fromNetwork(query(family, FAR, NODE, UDP, true))
        .passesUncountedAs(served(family, FAR, UDP, ALICES, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldSelectAgainWhereAConnectionIsOpenedAgain(Family family) {
    serve(family, NODE, TCP, BOBS);
    node.fromNetwork(opening(family).rst()).passesUncounted();
    node.fromNetwork(opening(family));
    node.fromNetwork(arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).rst()));
    serve(family, NODE, TCP, ALICES);
    node.fromNetwork(opening(family))
        .passesUncountedAs(arriving(family.packet(FAR, ALICE).tcp(CLIENT, SERVED).syn()));
  }

  private static IpPacket opening(Family family) {
    return arriving(family.packet(FAR, NODE).tcp(CLIENT, PORT).syn());
  }

  /** The stack splits it or answers it, and knows it by the address of the workload. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveAnswersToTheStackThatCannotLeaveWithoutIt(Family family) {
    node.routed();
    serve(family, NODE, UDP, BOBS);
    open(family, PEER, NODE, UDP, BOBS);
    final IpPacket shown =
        packet(family, NODE, PEER, UDP, PORT, CLIENT, true).from(BOB.mac()).to(BOB.hostMac());
    node.fromWorkload(BOB, answer(family, PEER, UDP, BOBS, true)).leavesAs(shown);
    node.fromWorkload(BOB, answer(family, PEER, UDP, BOBS, true).ttl(1)).passes();
    node.fromWorkload(BOB, answer(family, PEER, UDP, BOBS, true).to(ROUTER_MAC)).passes();
    node.network().mtu(ScenarioNetwork.DEVICE, 1280);
    node.fromWorkload(BOB, answer(family, PEER, UDP, BOBS, true).payloadOf(1400)).passes();
    node.fromWorkload(BOB, answer(family, PEER, UDP, BOBS, true)).leavesAs(shown.ttl(64));
  }

  /** In both directions the receiver of an error finds the packet that it has sent. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateErrors(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, NODE, protocol, BOBS);
      open(family, FAR, NODE, protocol, BOBS);
      final IpPacket shown = packet(family, NODE, FAR, protocol, PORT, CLIENT, true);
      final IpPacket answer = answer(family, FAR, protocol, BOBS, true);
      final IpPacket error = error(family, PEER, BOB, answer);
      node.fromNetwork(arriving(error(family, PEER, NODE, shown)))
          .passesUncountedAs(arriving(error(family, PEER, BOB, answer)));
      node.forwardedToWorkload(BOB, error).passes();
      final IpPacket served = served(family, FAR, protocol, BOBS, true);
      final IpPacket sent = query(family, FAR, NODE, protocol, true);
      node.toNetwork(error(family, BOB, FAR, served))
          .passesUncountedAs(error(family, NODE, FAR, sent).from(BOB.mac()).to(BOB.hostMac()));
      node.toNetwork(error(family, HOST, FAR, served))
          .passesUncountedAs(error(family, HOST, FAR, sent));
      node.fromNetwork(error(family, PEER, HOST, shown).to(DEVICE_MAC)).passesUncounted();
    }
  }

  private static IpPacket error(Family family, ScenarioHost from, ScenarioHost to, IpPacket about) {
    return family.packet(from, to).icmpError(family.unreachableType(), 1, about, 60);
  }

  private void serve(Family family, ScenarioHost frontend, int protocol, Server... servers) {
    node.services(family).putOutside(ID, family.address(frontend), PORT, protocol, 0, servers);
  }

  private static String unspecified(Family family) {
    return family == Family.IPV4 ? "0.0.0.0" : "::";
  }

  /** The first packet of a flow, which the workload judges, and its answer. */
  private void open(
      Family family, ScenarioHost client, ScenarioHost frontend, int protocol, Server server) {
    final IpPacket served = served(family, client, protocol, server, true);
    node.fromNetwork(query(family, client, frontend, protocol, true)).passesUncountedAs(served);
    node.forwardedToWorkload(server.host(), served).passes();
    assertNotEquals(
        Outcome.SHOT,
        node.fromWorkload(server.host(), answer(family, client, protocol, server, true)).action());
  }

  private Flow frontend(Family family, ScenarioHost client, int protocol) {
    return node.flows().find(family, client, CLIENT, NODE, PORT, protocol);
  }

  private Flow backend(Family family, ScenarioHost client, int protocol, Server server) {
    return node.flows().find(family, client, CLIENT, server.host(), server.port(), protocol);
  }

  private static IpPacket query(
      Family family, ScenarioHost client, ScenarioHost frontend, int protocol, boolean isQuick) {
    return arriving(packet(family, client, frontend, protocol, CLIENT, PORT, isQuick));
  }

  private static IpPacket served(
      Family family, ScenarioHost client, int protocol, Server server, boolean isQuick) {
    return arriving(
        packet(family, client, server.host(), protocol, CLIENT, server.port(), isQuick));
  }

  private static IpPacket arriving(IpPacket packet) {
    return packet.from(ROUTER_MAC).to(DEVICE_MAC);
  }

  private static IpPacket answer(
      Family family, ScenarioHost client, int protocol, Server server, boolean isQuick) {
    return packet(family, server.host(), client, protocol, server.port(), CLIENT, isQuick);
  }

  private static IpPacket packet(
      Family family,
      ScenarioHost from,
      ScenarioHost to,
      int protocol,
      int fromPort,
      int toPort,
      boolean isQuick) {
    final IpPacket packet = family.packet(from, to).payload("of a service");
    return slow(isQuick, Family.ports(packet, protocol, fromPort, toPort));
  }
}
