package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.packet;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets of a workload to a service that selects the workload itself. Its backend knows the client
 * by the address of the service. STRANGER has that of the service.
 */
@KernelTest
class HairpinKernelTest {
  private static final int ID = 7;
  private static final int PORT = 80;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int[] PROTOCOLS = {TCP, UDP};
  private static final List<ScenarioHost> WORKLOADS = List.of(ALICE, BOB);

  private final ScenarioNode node =
      new ScenarioNode().with(ALICE, EndpointOption.SERVICES).with(BOB, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  /**
   * No policy allows anything here; the frontend is that of a service or an address of the node.
   */
  @ParameterizedTest
  @EnumSource
  void shouldTurnTheFlowsOfAWorkloadToItself(Family family) {
    for (final ScenarioHost workload : WORKLOADS) {
      for (final ScenarioHost frontend : List.of(STRANGER, NODE)) {
        for (final int protocol : PROTOCOLS) {
          serve(family, protocol, frontend, workload);
          for (final boolean isQuick : new boolean[] {true, false, true}) {
            node.fromWorkload(workload, query(family, workload, frontend, protocol, isQuick))
                .reachesAs(workload, served(family, workload, frontend, protocol, isQuick));
            node.fromWorkload(workload, answer(family, workload, frontend, protocol, isQuick))
                .reachesAs(workload, shown(family, workload, frontend, protocol, isQuick));
          }
        }
      }
    }
  }

  /** The stack would not take a packet from one of its own addresses. */
  @ParameterizedTest
  @EnumSource
  void shouldTurnThemPastTheStackInEachMode(Family family) {
    node.without(EndpointOption.HOST_ROUTING);
    serve(family, TCP, STRANGER, ALICE);
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, query(family, ALICE, STRANGER, TCP, true))
          .reachesAs(ALICE, served(family, ALICE, STRANGER, TCP, true));
      node.fromWorkload(ALICE, answer(family, ALICE, STRANGER, TCP, true))
          .reachesAs(ALICE, shown(family, ALICE, STRANGER, TCP, true));
      node.raiseGeneration(ALICE.id);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, STRANGER, ALICE);
      for (final boolean isQuick : new boolean[] {true, false, true}) {
        final IpPacket query = query(family, ALICE, STRANGER, protocol, isQuick);
        final IpPacket answer = answer(family, ALICE, STRANGER, protocol, isQuick);
        assertEquals(0, node.checksummedFromWorkload(ALICE, query), "protocol " + protocol);
        assertEquals(0, node.checksummedFromWorkload(ALICE, answer), "protocol " + protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellBothEntriesWhatTheFlowDoes(Family family) {
    serve(family, TCP, STRANGER, ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).syn());
    lifetime(family, 60);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(SERVED, CLIENT).syn().ack());
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).ack());
    lifetime(family, 21_600);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(CLIENT, PORT).fin().ack());
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(SERVED, CLIENT).fin().ack());
    lifetime(family, 10);
  }

  /** The port of the client is that of the server, so that both legs would have one tuple. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveAFlowWhosePortsAreOneAnother(Family family) {
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(ALICE, PORT));
    final Outcome outcome =
        node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(PORT, PORT));
    final int port = outcome.parsed().sourcePort();
    assertNotEquals(PORT, port);
    outcome.reachesAs(ALICE, family.packet(STRANGER, ALICE).udp(port, PORT));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(PORT, port))
        .reachesAs(ALICE, family.packet(STRANGER, ALICE).udp(PORT, PORT));
    node.services(family).put(ID, STRANGER, PORT, SCTP, 0, new Server(ALICE, PORT));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).sctp(PORT, PORT))
        .dropsFor(DropReason.PORTS_EXHAUSTED);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).sctp(CLIENT, PORT))
        .reachesAs(ALICE, family.packet(STRANGER, ALICE).sctp(CLIENT, PORT));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTurnFragmentsInBothDirections(Family family) {
    serve(family, UDP, STRANGER, ALICE);
    fragments(
        family.packet(ALICE, STRANGER).udp(CLIENT, PORT),
        arrived(family.packet(STRANGER, ALICE)).udp(CLIENT, SERVED));
    fragments(
        family.packet(ALICE, STRANGER).udp(SERVED, CLIENT),
        arrived(family.packet(STRANGER, ALICE)).udp(PORT, CLIENT));
  }

  private void fragments(IpPacket sent, IpPacket arrives) {
    final List<byte[]> out = sent.payloadOf(3000).fragments(1480);
    final List<byte[]> in = arrives.payloadOf(3000).fragments(1480);
    for (int i = 0; i < out.size(); i++) {
      final Outcome outcome = node.fromWorkload(ALICE, out.get(i));
      assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
      assertArrayEquals(in.get(i), outcome.frame(), "fragment " + i);
    }
  }

  /** Of the backend, where no process listens, and of the client, which has gone. */
  @ParameterizedTest
  @EnumSource
  void shouldTurnErrorsInBothDirections(Family family) {
    final int type = family.unreachableType();
    serve(family, UDP, STRANGER, ALICE);
    node.fromWorkload(ALICE, query(family, ALICE, STRANGER, UDP, true))
        .reachesAs(ALICE, served(family, ALICE, STRANGER, UDP, true));
    node.fromWorkload(ALICE, answer(family, ALICE, STRANGER, UDP, true))
        .reachesAs(ALICE, shown(family, ALICE, STRANGER, UDP, true));
    node.fromWorkload(
            ALICE,
            family
                .packet(ALICE, STRANGER)
                .icmpError(type, 3, served(family, ALICE, STRANGER, UDP, true)))
        .reachesAs(
            ALICE,
            family
                .packet(STRANGER, ALICE)
                .icmpError(type, 3, query(family, ALICE, STRANGER, UDP, true)));
    node.fromWorkload(
            ALICE,
            family
                .packet(ALICE, STRANGER)
                .icmpError(type, 3, shown(family, ALICE, STRANGER, UDP, true)))
        .reachesAs(
            ALICE,
            family
                .packet(STRANGER, ALICE)
                .icmpError(type, 3, answer(family, ALICE, STRANGER, UDP, true)));
  }

  /** A packet that has no hop left is answered in the place of a router. */
  @ParameterizedTest
  @EnumSource
  void shouldAnswerWhatHasNoHopLeft(Family family) {
    serve(family, UDP, STRANGER, ALICE);
    for (int i = 0; i < 2; i++) {
      final IpPacket query = query(family, ALICE, STRANGER, UDP, true).ttl(1);
      final Outcome outcome = node.fromWorkload(ALICE, query);
      assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
      assertEquals(DropReason.NOT_FORWARDABLE, outcome.counted());
      final int at = family == Family.IPV4 ? 34 : 54;
      assertEquals(family == Family.IPV4 ? 11 : 3, outcome.frame()[at]);
    }
  }

  /** Such a flow is not one of a socket of the node that has the address of the frontend. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseOthersTheTupleOfTheAnswers(Family family) {
    serve(family, UDP, NODE, ALICE);
    node.fromWorkload(ALICE, query(family, ALICE, NODE, UDP, true))
        .reachesAs(ALICE, served(family, ALICE, NODE, UDP, true));
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.toWorkload(ALICE, served(family, ALICE, NODE, UDP, isQuick))
          .dropsFor(DropReason.TUPLE_IN_USE);
    }
    for (int i = 0; i < 2; i++) {
      node.fromWorkload(ALICE, answer(family, ALICE, NODE, UDP, true))
          .reachesAs(ALICE, shown(family, ALICE, NODE, UDP, true));
    }
  }

  /** Its address is that of another workload now, which has no flow to itself. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheTupleToTheNextOwnerOfTheAddress(Family family) {
    serve(family, UDP, NODE, ALICE);
    node.fromWorkload(ALICE, query(family, ALICE, NODE, UDP, true))
        .reachesAs(ALICE, served(family, ALICE, NODE, UDP, true));
    node.policyOf(ALICE).allowAll();
    node.reassign(ALICE);
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.toWorkload(ALICE, served(family, ALICE, NODE, UDP, isQuick)).passes();
    }
  }

  /** From the workload itself to another one, and back. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveTheFlowUpWhereTheBackendIsAnother(Family family) {
    node.policyOf(ALICE).allowAll();
    node.policyOf(BOB).allowAll();
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, STRANGER, ALICE);
      for (final ScenarioHost other : List.of(ALICE, BOB, ALICE)) {
        serve(family, protocol, STRANGER, other);
        if (other == BOB) {
          node.services(family).state(ID, new Server(ALICE, SERVED), null);
        } else {
          node.services(family).state(ID, new Server(BOB, SERVED), BackendState.QUARANTINED);
        }
        node.raiseGeneration(ALICE.id);
        for (int i = 0; i < 2; i++) {
          final IpPacket served =
              other == ALICE
                  ? served(family, ALICE, STRANGER, protocol, true)
                  : packet(family, ALICE, BOB, protocol, CLIENT, SERVED, true);
          node.fromWorkload(ALICE, query(family, ALICE, STRANGER, protocol, true))
              .reachesAs(other, served);
        }
      }
    }
  }

  /** The network sends nothing from the address of a workload, and no errors about its flows. */
  @ParameterizedTest
  @EnumSource
  void shouldTakeNothingOfItFromTheNetwork(Family family) {
    for (final int protocol : PROTOCOLS) {
      serve(family, protocol, STRANGER, ALICE);
      node.fromWorkload(ALICE, query(family, ALICE, STRANGER, protocol, true))
          .reachesAs(ALICE, served(family, ALICE, STRANGER, protocol, true));
      for (final boolean isQuick : new boolean[] {true, false}) {
        final IpPacket query = query(family, ALICE, STRANGER, protocol, isQuick);
        final IpPacket answer = answer(family, ALICE, STRANGER, protocol, isQuick);
        node.fromNetwork(query.to(DEVICE_MAC)).dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
        node.fromNetwork(answer.to(DEVICE_MAC)).dropsFor(DropReason.INVALID_SOURCE_ADDRESS);
      }
      for (final IpPacket quoted :
          List.of(
              served(family, ALICE, STRANGER, protocol, true),
              shown(family, ALICE, STRANGER, protocol, true))) {
        final IpPacket error =
            family
                .packet(FAR, STRANGER)
                .to(DEVICE_MAC)
                .icmpError(family.unreachableType(), 3, quoted);
        node.fromNetwork(error).passesUncountedAs(error);
      }
    }
  }

  private void lifetime(Family family, int seconds) {
    final Flows.Flow front = node.flows().find(family, ALICE, CLIENT, STRANGER, PORT, TCP);
    final Flows.Flow back = node.flows().find(family, STRANGER, CLIENT, ALICE, SERVED, TCP);
    for (final Flows.Flow flow : new Flows.Flow[] {front, back}) {
      assertNotNull(flow);
      assertEquals(seconds, flow.lifetime().toSeconds(), 2, flow::toString);
    }
  }

  private void serve(Family family, int protocol, ScenarioHost frontend, ScenarioHost backend) {
    node.services(family).put(ID, frontend, PORT, protocol, 0, new Server(backend, SERVED));
  }

  private static IpPacket arrived(IpPacket packet) {
    return packet.from(ALICE.hostMac()).to(ALICE.mac()).ttl(63);
  }

  private static IpPacket query(
      Family family, ScenarioHost own, ScenarioHost frontend, int protocol, boolean isQuick) {
    return packet(family, own, frontend, protocol, CLIENT, PORT, isQuick);
  }

  /** What the server of the workload gets of it. */
  private static IpPacket served(
      Family family, ScenarioHost own, ScenarioHost frontend, int protocol, boolean isQuick) {
    return packet(family, frontend, own, protocol, CLIENT, SERVED, isQuick);
  }

  private static IpPacket answer(
      Family family, ScenarioHost own, ScenarioHost frontend, int protocol, boolean isQuick) {
    return packet(family, own, frontend, protocol, SERVED, CLIENT, isQuick);
  }

  /** What the client of the workload gets of it. */
  private static IpPacket shown(
      Family family, ScenarioHost own, ScenarioHost frontend, int protocol, boolean isQuick) {
    return packet(family, frontend, own, protocol, PORT, CLIENT, isQuick);
  }
}
