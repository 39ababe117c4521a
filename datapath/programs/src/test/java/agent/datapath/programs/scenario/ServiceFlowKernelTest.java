package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.packet;
import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
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
import agent.testkit.Packets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of a workload to a service, which no program has translated at its socket. STRANGER has
 * the address of the service.
 */
@KernelTest
class ServiceFlowKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int IPV6_DESTINATION = 14 + 24;
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final Server BOBS = new Server(BOB, SERVED);
  private static final Server ALICES = new Server(ALICE, SERVED);
  private static final Server PEERS = new Server(PEER, SERVED);

  private final ScenarioNode node =
      new ScenarioNode()
          .withoutPolicy()
          .with(ALICE, EndpointOption.SERVICES)
          .with(BOB, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheFlowsOfEitherWorkloadInBothDirections(Family family) {
    for (final ScenarioHost client : List.of(ALICE, BOB)) {
      final Server server = client == ALICE ? BOBS : ALICES;
      for (final int protocol : PROTOCOLS) {
        serve(family, protocol, server);
        for (int i = 0; i < 3; i++) {
          final boolean isQuick = i != 2;
          node.fromWorkload(client, query(family, client, CLIENT, protocol, isQuick))
              .reachesAs(server.host(), served(family, client, CLIENT, protocol, server, isQuick));
          node.fromWorkload(
                  server.host(), answer(family, client, CLIENT, protocol, server, isQuick))
              .reachesAs(client, shown(family, client, CLIENT, protocol, isQuick));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateWhatTheStackDeliversWhereItReachesAWorkload(Family family) {
    node.without(EndpointOption.HOST_ROUTING);
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, BOBS);
      for (int i = 0; i < 3; i++) {
        final boolean isQuick = i != 2;
        final IpPacket served = served(family, ALICE, CLIENT, protocol, BOBS, isQuick);
        node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, isQuick)).passesAs(served);
        node.toWorkload(BOB, served).passes();
        final IpPacket answer = answer(family, ALICE, CLIENT, protocol, BOBS, isQuick);
        node.fromWorkload(BOB, answer).passes();
        node.toWorkload(ALICE, answer)
            .passesAs(
                packet(family, STRANGER, ALICE, protocol, PORT, CLIENT, isQuick)
                    .from(BOB.mac())
                    .to(BOB.hostMac()));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateFlowsToABackendOfTheNetworkThatBypassTheStack(Family family) {
    node.routed();
    for (final Server server : List.of(PEERS, new Server(FAR, SERVED))) {
      for (final int protocol : PROTOCOLS) {
        serve(family, protocol, server);
        final int port = CLIENT + server.host().ordinal();
        for (int i = 0; i < 2; i++) {
          final Outcome outcome =
              node.fromWorkload(ALICE, query(family, ALICE, port, protocol, true));
          final IpPacket served = served(family, ALICE, port, protocol, server, true);
          if (outcome.action() == Outcome.PASS) {
            outcome.passesAs(served);
          } else {
            outcome.leavesAs(served);
          }
          final IpPacket answer =
              packet(family, server.host(), ALICE, protocol, SERVED, port, true);
          node.fromNetwork(answer.to(DEVICE_MAC))
              .reachesAs(ALICE, shown(family, ALICE, port, protocol, true));
          assertEquals(0, node.checksummedFromNetwork(answer), "protocol " + protocol);
        }
        node.fromWorkload(ALICE, query(family, ALICE, port, protocol, true))
            .leavesAs(served(family, ALICE, port, protocol, server, true));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheAnswersOfTheNetworkThatTheStackDelivers(Family family) {
    serve(family, UDP, PEERS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .passesAs(served(family, ALICE, CLIENT, UDP, PEERS, true));
    final IpPacket answer = packet(family, PEER, ALICE, UDP, SERVED, CLIENT, true);
    node.fromNetwork(answer.to(DEVICE_MAC)).passesUncounted();
    node.forwardedToWorkload(ALICE, packet(family, PEER, ALICE, UDP, SERVED, CLIENT, true))
        .passesAs(packet(family, STRANGER, ALICE, UDP, PORT, CLIENT, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, BOBS);
      for (int i = 0; i < 2; i++) {
        final IpPacket query = query(family, ALICE, CLIENT, protocol, true);
        assertEquals(0, node.checksummedFromWorkload(ALICE, query), "protocol " + protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskThePoliciesForTheBackendAndItsPort(Family family) {
    node.policyOf(ALICE).revokeAll(PolicyDirection.EGRESS);
    node.policyOf(BOB).revokeAll(PolicyDirection.INGRESS);
    serve(family, TCP, BOBS);
    final IpPacket query = query(family, ALICE, CLIENT, TCP, true);
    node.policyOf(ALICE).allowTo(STRANGER, TCP, PORT);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query).dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(BOB, TCP, SERVED);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query).dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(ALICE, TCP, SERVED);
    node.raiseGeneration(BOB.id);
    final IpPacket served = served(family, ALICE, CLIENT, TCP, BOBS, true);
    node.fromWorkload(ALICE, query).reachesAs(BOB, served);
    node.policyOf(BOB).revokeFrom(ALICE, TCP, SERVED);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, TCP, true))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
    node.fromWorkload(BOB, answer(family, ALICE, CLIENT, TCP, BOBS, true))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(BOB).allowFrom(ALICE, TCP, SERVED);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, TCP, true)).reachesAs(BOB, served);
  }

  /** Both directions are known to both entries, whichever packets pass by them. */
  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatTheFlowDoes(Family family) {
    for (final ScenarioHost client : List.of(ALICE, BOB)) {
      final Server server = client == ALICE ? BOBS : ALICES;
      serve(family, TCP, server);
      for (final boolean isQuick : new boolean[] {true, false}) {
        final int port = isQuick ? CLIENT : CLIENT + 1;
        node.fromWorkload(client, slow(isQuick, tcp(family, client, port).syn()));
        lifetime(family, client, port, server, 60);
        node.fromWorkload(
            server.host(), slow(isQuick, back(family, client, port, server).syn().ack()));
        node.fromWorkload(client, slow(isQuick, tcp(family, client, port).ack()));
        lifetime(family, client, port, server, 21_600);
        node.fromWorkload(client, slow(isQuick, tcp(family, client, port).fin().ack()));
        lifetime(family, client, port, server, 21_600);
        node.fromWorkload(
            server.host(), slow(isQuick, back(family, client, port, server).fin().ack()));
        lifetime(family, client, port, server, 10);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldEndBothEntriesWithAReset(Family family) {
    serve(family, TCP, BOBS);
    for (final boolean byClient : new boolean[] {true, false}) {
      final int port = byClient ? CLIENT : CLIENT + 1;
      establish(family, port);
      if (byClient) {
        node.fromWorkload(ALICE, tcp(family, ALICE, port).rst());
      } else {
        node.fromWorkload(BOB, back(family, ALICE, port, BOBS).rst());
      }
      lifetime(family, ALICE, port, BOBS, 10);
    }
  }

  /** What a receiver acknowledges tells its resets; either entry may have to judge one. */
  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatIsAcknowledged(Family family) {
    final int far = 100 << 20;
    serve(family, TCP, BOBS);
    establish(family, CLIENT);
    node.fromWorkload(BOB, back(family, ALICE, CLIENT, BOBS).ack(far))
        .reachesAs(ALICE, family.packet(STRANGER, ALICE).tcp(PORT, CLIENT).ack(far));
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).rst());
    lifetime(family, ALICE, CLIENT, BOBS, 21_600);
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).rst().sequence(far));
    lifetime(family, ALICE, CLIENT, BOBS, 10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatTheNetworkAnswers(Family family) {
    node.routed();
    serve(family, TCP, PEERS);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).syn());
    }
    node.fromNetwork(back(family, ALICE, CLIENT, PEERS).to(DEVICE_MAC).syn().ack());
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).ack());
    lifetime(family, ALICE, CLIENT, PEERS, 21_600);
  }

  /** A FIN that renews the verdict of its entry is one that the other entry has to know, too. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheOtherEntryOfAPacketThatRenewsTheVerdict(Family family) {
    serve(family, TCP, BOBS);
    establish(family, CLIENT);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).fin().ack());
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(BOB, back(family, ALICE, CLIENT, BOBS).fin().ack());
    lifetime(family, ALICE, CLIENT, BOBS, 10);
  }

  @ParameterizedTest
  @EnumSource
  void shouldOpenBothEntriesAgainWhereThatOfTheAnswersIsGone(Family family) {
    serve(family, UDP, BOBS);
    final IpPacket query = query(family, ALICE, CLIENT, UDP, true);
    node.fromWorkload(ALICE, query).reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    node.flows().delete(family, ALICE, CLIENT, BOB, SERVED, UDP);
    node.flows().expireAfter(Duration.ofSeconds(5), family, ALICE, CLIENT, STRANGER, PORT, UDP);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
          .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    }
    node.fromWorkload(BOB, answer(family, ALICE, CLIENT, UDP, BOBS, true))
        .reachesAs(ALICE, shown(family, ALICE, CLIENT, UDP, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendWhenTheVerdictIsRenewed(Family family) {
    serve(family, TCP, PEERS);
    serve(family, UDP, PEERS);
    for (final int protocol : PROTOCOLS) {
      for (final boolean isQuick : new boolean[] {true, false}) {
        final int port = isQuick ? CLIENT : CLIENT + 1;
        serve(family, protocol, PEERS);
        final IpPacket served = served(family, ALICE, port, protocol, PEERS, isQuick);
        node.fromWorkload(ALICE, query(family, ALICE, port, protocol, isQuick)).passesAs(served);
        serve(family, protocol, BOBS);
        node.services(family).state(ID, PEERS, BackendState.TERMINATING);
        node.raiseGeneration(ALICE.id);
        for (int i = 0; i < 2; i++) {
          node.fromWorkload(ALICE, query(family, ALICE, port, protocol, isQuick)).passesAs(served);
          node.forwardedToWorkload(ALICE, answer(family, ALICE, port, protocol, PEERS, isQuick))
              .passesAs(shown(family, ALICE, port, protocol, isQuick));
        }
        node.fromWorkload(ALICE, query(family, ALICE, port + 2, protocol, isQuick))
            .reachesAs(BOB, served(family, ALICE, port + 2, protocol, BOBS, isQuick));
      }
    }
  }

  /** The id of the service tells later whether the backend keeps the flow. */
  @ParameterizedTest
  @EnumSource
  void shouldOpenBothEntriesAgainWhereTheBackendIsAnotherEndpointNow(Family family) {
    serve(family, UDP, BOBS);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
          .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
      assertEquals(ID, find(family, ALICE, STRANGER, PORT, UDP).serviceId());
      assertEquals(ID, find(family, ALICE, BOB, SERVED, UDP).serviceId());
      node.fromWorkload(BOB, answer(family, ALICE, CLIENT, UDP, BOBS, true))
          .reachesAs(ALICE, shown(family, ALICE, CLIENT, UDP, true));
      node.reassign(BOB);
    }
    node.fromWorkload(BOB, answer(family, ALICE, CLIENT, UDP, BOBS, true)).reaches(ALICE);
  }

  /** Backends answer with their own address. */
  @ParameterizedTest
  @EnumSource
  void shouldNotLetAPacketFromTheAddressOfTheServiceChangeAFlow(Family family) {
    serve(family, UDP, BOBS);
    final IpPacket served = served(family, ALICE, CLIENT, UDP, BOBS, true);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true)).reachesAs(BOB, served);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, shown(family, ALICE, CLIENT, UDP, true)).passes();
    assertTrue(find(family, ALICE, STRANGER, PORT, UDP).has(ConntrackFlag.REWRITTEN));
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true)).reachesAs(BOB, served);
  }

  /** The policy judges such a packet by itself. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeAPacketFromTheAddressOfTheServiceForAnAnswer(Family family) {
    node.routed();
    serve(family, UDP, PEERS);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true));
    }
    node.policyOf(ALICE).revokeAll(PolicyDirection.INGRESS);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true));
    final IpPacket answer = packet(family, PEER, ALICE, UDP, SERVED, CLIENT, true);
    node.forwardedToWorkload(ALICE, answer).passesAs(shown(family, ALICE, CLIENT, UDP, true));
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.forwardedToWorkload(ALICE, shown(family, ALICE, CLIENT, UDP, isQuick))
          .dropsFor(DropReason.POLICY_DENIED);
    }
    node.fromNetwork(shown(family, ALICE, CLIENT, UDP, true).to(DEVICE_MAC)).passesUncounted();
    node.fromNetwork(packet(family, PEER, ALICE, UDP, SERVED, CLIENT, true).to(DEVICE_MAC))
        .reachesAs(ALICE, shown(family, ALICE, CLIENT, UDP, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheFlowsOfABackendThatIsGoneToAnother(Family family) {
    for (final BackendState state :
        new BackendState[] {null, BackendState.QUARANTINED, BackendState.MAINTENANCE}) {
      final int port = CLIENT + (state == null ? 0 : state.number());
      for (final int protocol : PROTOCOLS) {
        serve(family, protocol, PEERS);
        node.fromWorkload(ALICE, query(family, ALICE, port, protocol, true))
            .passesAs(served(family, ALICE, port, protocol, PEERS, true));
        serve(family, protocol, BOBS);
        node.services(family).state(ID, PEERS, state);
        node.raiseGeneration(ALICE.id);
        final IpPacket served = served(family, ALICE, port, protocol, BOBS, true);
        node.fromWorkload(ALICE, query(family, ALICE, port, protocol, true)).reachesAs(BOB, served);
        node.fromWorkload(ALICE, query(family, ALICE, port, protocol, true)).reachesAs(BOB, served);
        node.fromWorkload(BOB, answer(family, ALICE, port, protocol, BOBS, true))
            .reachesAs(ALICE, shown(family, ALICE, port, protocol, true));
        final Server fars = new Server(FAR, SERVED);
        serve(family, protocol, fars);
        final int other = port + 10;
        node.fromWorkload(ALICE, query(family, ALICE, other, protocol, true))
            .passesAs(served(family, ALICE, other, protocol, fars, true));

        serve(family, protocol, PEERS);
        node.services(family).state(ID, fars, state);
        node.raiseGeneration(ALICE.id);
        for (int i = 0; i < 2; i++) {
          node.fromWorkload(ALICE, query(family, ALICE, other, protocol, true))
              .passesAs(served(family, ALICE, other, protocol, PEERS, true));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheFlowsOfAServiceThatIsGoneToItsAddress(Family family) {
    for (final Server server : List.of(BOBS, PEERS)) {
      for (final int protocol : PROTOCOLS) {
        serve(family, protocol, server);
        node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, true));
        assertTrue(find(family, ALICE, STRANGER, PORT, protocol).has(ConntrackFlag.REWRITTEN));
        node.services(family).remove(ID, STRANGER, PORT, protocol, List.of(server));
        node.raiseGeneration(ALICE.id);
        for (int i = 0; i < 2; i++) {
          node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, true)).passes();
        }
        assertEquals(
            false, find(family, ALICE, STRANGER, PORT, protocol).has(ConntrackFlag.REWRITTEN));
        node.flows().delete(family, ALICE, CLIENT, STRANGER, PORT, protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheDatagramsToAnAddressToTheServiceThatItBecomes(Family family) {
    for (final int protocol : PROTOCOLS) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, true)).passes();
      serve(family, protocol, BOBS);
      node.raiseGeneration(ALICE.id);
    }
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, TCP, true)).passes();
  }

  /** The backend could not tell two connections of one port of the client apart. */
  @ParameterizedTest
  @EnumSource
  void shouldNotMixAFlowWithAnotherOfTheClientToTheBackend(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, BOBS);
      final IpPacket direct = packet(family, ALICE, BOB, protocol, CLIENT, SERVED, true);
      node.fromWorkload(ALICE, direct).reaches(BOB);
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, true))
          .dropsFor(DropReason.TUPLE_IN_USE);
      node.fromWorkload(ALICE, packet(family, ALICE, BOB, protocol, CLIENT, SERVED, true))
          .reaches(BOB);
      node.flows()
          .expireAfter(Duration.ofSeconds(-1), family, ALICE, CLIENT, BOB, SERVED, protocol);
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, protocol, true))
          .reachesAs(BOB, served(family, ALICE, CLIENT, protocol, BOBS, true));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeTheTupleOfAConnectionThatHasEnded(Family family) {
    serve(family, TCP, BOBS);
    final IpPacket direct = family.packet(ALICE, BOB).tcp(CLIENT, SERVED);
    node.fromWorkload(ALICE, direct.syn()).reaches(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(CLIENT, SERVED).rst()).reaches(BOB);
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).syn())
        .reachesAs(BOB, family.packet(ALICE, BOB).tcp(CLIENT, SERVED).syn());
    assertTrue(find(family, ALICE, BOB, SERVED, TCP).has(ConntrackFlag.REWRITTEN));
  }

  /** The second service has another backend, or its answers would show the first one's address. */
  @ParameterizedTest
  @EnumSource
  void shouldNotMixFlowsToTwoServicesOfOneBackend(Family family) {
    serve(family, UDP, BOBS);
    node.services(family).put(ID + 1, FAR, PORT, UDP, 0, BOBS);
    node.services(family).put(ID + 2, STRANGER, PORT + 1, UDP, 0, BOBS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    node.fromWorkload(ALICE, packet(family, ALICE, FAR, UDP, CLIENT, PORT, true))
        .dropsFor(DropReason.TUPLE_IN_USE);
    node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, UDP, CLIENT, PORT + 1, true))
        .dropsFor(DropReason.TUPLE_IN_USE);
    node.flows().expireAfter(Duration.ofSeconds(-1), family, ALICE, CLIENT, STRANGER, PORT, UDP);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    node.services(family).put(ID + 3, PEER, PORT, UDP, 0, BOBS);
    final int next = CLIENT + 1;
    node.fromWorkload(ALICE, packet(family, ALICE, FAR, UDP, next, PORT, true))
        .reachesAs(BOB, served(family, ALICE, next, UDP, BOBS, true));
    node.fromWorkload(ALICE, packet(family, ALICE, PEER, UDP, next, PORT, true))
        .dropsFor(DropReason.TUPLE_IN_USE);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKnowThePortsOfEachProtocolApart(Family family) {
    serve(family, TCP, BOBS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true)).passes();
    node.fromWorkload(ALICE, packet(family, ALICE, STRANGER, TCP, CLIENT, PORT + 1, true)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).sctp(CLIENT, PORT)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).echoRequest(7, 1)).passes();
    assertNull(node.flows().find(family, ALICE, CLIENT, BOB, SERVED, SCTP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeavePacketsOfAWorkloadWithoutConntrackAlone(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    serve(family, UDP, BOBS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true)).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCompareNewFlowsWithServicesWhereTheNodeHasSome(Family family) {
    serve(family, UDP, BOBS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
    node.without(ALICE, EndpointOption.SERVICES);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT + 1, UDP, true)).passes();
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .reachesAs(BOB, served(family, ALICE, CLIENT, UDP, BOBS, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskThePolicyOfABackendWithoutConntrackForEachPacket(Family family) {
    node.without(BOB, EndpointOption.CONNTRACK);
    node.policyOf(BOB).revokeAll(PolicyDirection.INGRESS);
    node.policyOf(BOB).allowFrom(ALICE, UDP, SERVED);
    node.raiseGeneration(BOB.id);
    serve(family, UDP, BOBS);
    final IpPacket served = served(family, ALICE, CLIENT, UDP, BOBS, true);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true)).reachesAs(BOB, served);
    }
    node.policyOf(BOB).revokeFrom(ALICE, UDP, SERVED);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .dropsAtPeerFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveAResetWithoutAFlowAlone(Family family) {
    serve(family, TCP, BOBS);
    node.fromWorkload(ALICE, tcp(family, ALICE, CLIENT).rst()).passes();
  }

  @Test
  void shouldTakeAnIpv6PacketToAMappedAddressForNoService() {
    serve(Family.IPV4, UDP, BOBS);
    final byte[] packet = query(Family.IPV6, ALICE, CLIENT, UDP, true).bytes();
    Arrays.fill(packet, IPV6_DESTINATION, IPV6_DESTINATION + 10, (byte) 0);
    Arrays.fill(packet, IPV6_DESTINATION + 10, IPV6_DESTINATION + 12, (byte) 0xff);
    System.arraycopy(Packets.address(STRANGER.ipv4, 4), 0, packet, IPV6_DESTINATION + 12, 4);
    node.fromWorkload(ALICE, packet).dropsFor(DropReason.INVALID_ADDRESS);
  }

  @ParameterizedTest
  @EnumSource
  void shouldSpreadFlowsOverTheBackendsAndGiveATupleTheSameOne(Family family) {
    final int flows = 1000;
    serve(family, UDP, BOBS, PEERS);
    final List<Boolean> first = new ArrayList<>();
    for (int i = 0; i < 2 * flows; i++) {
      if (i >= flows) {
        node.flows().delete(family, ALICE, CLIENT + i % flows, STRANGER, PORT, UDP);
      }
      final Outcome outcome =
          node.fromWorkload(ALICE, query(family, ALICE, CLIENT + i % flows, UDP, true));
      final boolean isBobs = outcome.action() == Outcome.REDIRECT;
      if (i < flows) {
        first.add(isBobs);
      } else {
        assertEquals(first.get(i - flows), isBobs);
      }
    }
    final long bobs = first.stream().filter(isBobs -> isBobs).count();
    assertTrue(bobs > 0.4 * flows && bobs < 0.6 * flows, bobs + " of " + flows);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheBackendOfAClientWithAffinity(Family family) {
    node.services(family).put(ID, STRANGER, PORT, UDP, 3600, PEERS);
    node.fromWorkload(ALICE, query(family, ALICE, CLIENT, UDP, true))
        .passesAs(served(family, ALICE, CLIENT, UDP, PEERS, true));
    node.services(family).put(ID, STRANGER, PORT, UDP, 3600, ALICES);
    for (int i = 1; i < 10; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, CLIENT + i, UDP, true))
          .passesAs(served(family, ALICE, CLIENT + i, UDP, PEERS, true));
    }
    node.fromWorkload(BOB, query(family, BOB, CLIENT, UDP, true))
        .reachesAs(ALICE, served(family, BOB, CLIENT, UDP, ALICES, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateLaterFragments(Family family) {
    serve(family, UDP, BOBS);
    for (int pass = 0; pass < 2; pass++) {
      final List<byte[]> sent =
          family.packet(ALICE, STRANGER).id(pass).udp(CLIENT, PORT).payloadOf(1000).fragments(512);
      final List<byte[]> expected =
          family
              .packet(ALICE, BOB)
              .id(pass)
              .from(BOB.hostMac())
              .to(BOB.mac())
              .ttl(63)
              .udp(CLIENT, SERVED)
              .payloadOf(1000)
              .fragments(512);
      for (int i = 0; i < sent.size(); i++) {
        final Outcome outcome = node.fromWorkload(ALICE, sent.get(i));
        assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
        assertArrayEquals(expected.get(i), outcome.frame(), "fragment " + i);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldCountEachPacketOfAFlowOnce(Family family) {
    node.with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING);
    node.with(BOB, EndpointOption.CONNTRACK_ACCOUNTING);
    count(family, ALICE, STRANGER, BOBS);
    count(family, BOB, STRANGER, ALICES);
    count(family, ALICE, FAR, BOBS);
    count(family, BOB, FAR, ALICES);
    count(family, ALICE, STRANGER, PEERS);
    count(family, ALICE, STRANGER, new Server(FAR, SERVED));
    count(family, ALICE, FAR, PEERS);
  }

  /** Whatever the order of the addresses, each leg's entry is the one that counts. */
  private void count(Family family, ScenarioHost client, ScenarioHost frontend, Server server) {
    final int port = CLIENT + 1 + server.host().ordinal() + 10 * frontend.ordinal();
    node.services(family).put(ID, frontend, PORT, UDP, 0, server);
    for (int i = 0; i < 16; i++) {
      node.fromWorkload(client, packet(family, client, frontend, UDP, port, PORT, true));
      final IpPacket answer = answer(family, client, port, UDP, server, true);
      if (server.host().isLocal()) {
        node.fromWorkload(server.host(), answer);
      } else {
        node.toWorkload(client, answer);
      }
    }
    final Flow front = node.flows().find(family, client, port, frontend, PORT, UDP);
    final Flow back = node.flows().find(family, client, port, server.host(), SERVED, UDP);
    assertEquals(16, front.initiatorPackets(), () -> server + " of " + frontend);
    assertEquals(0, back.initiatorPackets());
    assertEquals(16, back.responderPackets());
    assertEquals(0, front.responderPackets());
  }

  private void serve(Family family, int protocol, Server... servers) {
    node.services(family).put(ID, STRANGER, PORT, protocol, 0, servers);
  }

  private Flow find(Family family, ScenarioHost from, ScenarioHost to, int port, int protocol) {
    final Flow flow = node.flows().find(family, from, CLIENT, to, port, protocol);
    assertNotNull(flow);
    return flow;
  }

  private void establish(Family family, int port) {
    node.fromWorkload(ALICE, tcp(family, ALICE, port).syn());
    node.fromWorkload(BOB, back(family, ALICE, port, BOBS).syn().ack());
    node.fromWorkload(ALICE, tcp(family, ALICE, port).ack());
    lifetime(family, ALICE, port, BOBS, 21_600);
  }

  /** Asserts the lifetime of both entries, in seconds. */
  private void lifetime(
      Family family, ScenarioHost client, int port, Server server, int expectedSec) {
    final Flow front = node.flows().find(family, client, port, STRANGER, PORT, TCP);
    final Flow back = node.flows().find(family, client, port, server.host(), server.port(), TCP);
    for (final Flow flow : new Flow[] {front, back}) {
      assertNotNull(flow);
      assertEquals(client, flow.initiator());
      assertEquals(expectedSec, flow.lifetime().toSeconds(), 2, flow + " of " + family);
    }
  }

  private static IpPacket tcp(Family family, ScenarioHost client, int port) {
    return family.packet(client, STRANGER).tcp(port, PORT);
  }

  private static IpPacket back(Family family, ScenarioHost client, int port, Server server) {
    return family.packet(server.host(), client).tcp(server.port(), port);
  }

  /** What a client sends. */
  private static IpPacket query(
      Family family, ScenarioHost client, int port, int protocol, boolean isQuick) {
    return packet(family, client, STRANGER, protocol, port, PORT, isQuick);
  }

  /** What the backend gets of it. */
  private static IpPacket served(
      Family family, ScenarioHost client, int port, int protocol, Server server, boolean isQuick) {
    return packet(family, client, server.host(), protocol, port, server.port(), isQuick);
  }

  /** What the backend answers. */
  private static IpPacket answer(
      Family family, ScenarioHost client, int port, int protocol, Server server, boolean isQuick) {
    return packet(family, server.host(), client, protocol, server.port(), port, isQuick);
  }

  /** What the client gets of it. */
  private static IpPacket shown(
      Family family, ScenarioHost client, int port, int protocol, boolean isQuick) {
    return packet(family, STRANGER, client, protocol, PORT, port, isQuick);
  }
}
