package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.SCTP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.BackendState;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * SCTP packets of a workload to a service, whose backends have its port: the checksum covers the
 * ports and not the addresses (RFC 9260, section 6.8). STRANGER has the address of the service.
 * What is expected has the CRC32c of {@link java.util.zip.CRC32C}.
 */
@KernelTest
class SctpServiceKernelTest {
  private static final int ID = 7;
  private static final int PORT = 3868;
  private static final int CLIENT = 40000;
  private static final Server BOBS = new Server(BOB, PORT);
  private static final Server ALICES = new Server(ALICE, PORT);
  private static final Server PEERS = new Server(PEER, PORT);

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
      final ScenarioHost server = client == ALICE ? BOB : ALICE;
      serve(family, client == ALICE ? BOBS : ALICES);
      for (int i = 0; i < 4; i++) {
        final boolean isQuick = i % 2 == 0;
        node.fromWorkload(client, packet(family, client, CLIENT, STRANGER, PORT, isQuick))
            .reachesAs(server, packet(family, client, CLIENT, server, PORT, isQuick));
        node.fromWorkload(server, packet(family, server, PORT, client, CLIENT, isQuick))
            .reachesAs(client, packet(family, STRANGER, PORT, client, CLIENT, isQuick));
      }
      assertNotNull(node.flows().find(family, client, CLIENT, STRANGER, PORT, SCTP));
      assertNotNull(node.flows().find(family, client, CLIENT, server, PORT, SCTP));
    }
  }

  /** The stack has the packets of the network. */
  @ParameterizedTest
  @EnumSource
  void shouldTranslateFlowsToABackendOfTheNetwork(Family family) {
    serve(family, PEERS);
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true))
          .passesAs(packet(family, ALICE, CLIENT, PEER, PORT, true));
      node.fromNetwork(packet(family, PEER, PORT, ALICE, CLIENT, true).to(DEVICE_MAC))
          .passesUncounted();
      node.forwardedToWorkload(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, true))
          .passesAs(packet(family, STRANGER, PORT, ALICE, CLIENT, true));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheChecksumOfTheDeviceRight(Family family) {
    serve(family, BOBS);
    for (int i = 0; i < 2; i++) {
      final IpPacket query = packet(family, ALICE, CLIENT, STRANGER, PORT, true);
      assertEquals(0, node.checksummedFromWorkload(ALICE, query));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskThePoliciesForTheBackend(Family family) {
    node.policyOf(ALICE).revokeAll(PolicyDirection.EGRESS);
    serve(family, BOBS);
    node.policyOf(ALICE).allowTo(STRANGER, SCTP, PORT);
    node.policyOf(ALICE).allowTo(BOB, UDP, PORT);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true))
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowTo(BOB, SCTP, PORT);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true))
        .reachesAs(BOB, packet(family, ALICE, CLIENT, BOB, PORT, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheFlowsOfABackendThatGoesToAnother(Family family) {
    serve(family, PEERS);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true))
        .passesAs(packet(family, ALICE, CLIENT, PEER, PORT, true));
    serve(family, BOBS);
    node.services(family).state(ID, PEERS, BackendState.QUARANTINED);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true))
        .reachesAs(BOB, packet(family, ALICE, CLIENT, BOB, PORT, true));
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateLaterFragments(Family family) {
    serve(family, BOBS);
    final List<byte[]> sent =
        family.packet(ALICE, STRANGER).id(3).sctp(CLIENT, PORT).payloadOf(8000).fragments(1480);
    final List<byte[]> expected =
        family
            .packet(ALICE, BOB)
            .id(3)
            .from(BOB.hostMac())
            .to(BOB.mac())
            .ttl(63)
            .sctp(CLIENT, PORT)
            .payloadOf(8000)
            .fragments(1480);
    for (int i = 0; i < sent.size(); i++) {
      assertArrayEquals(
          expected.get(i), node.fromWorkload(ALICE, sent.get(i)).frame(), "fragment " + i);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTranslateTheErrorsOfABackend(Family family) {
    serve(family, BOBS);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, STRANGER, PORT, true));
    for (final int quoted : new int[] {8, 12, 40}) {
      final IpPacket served = packet(family, ALICE, CLIENT, BOB, PORT, true);
      final IpPacket sent = packet(family, ALICE, CLIENT, STRANGER, PORT, true);
      node.fromWorkload(BOB, error(family, BOB, served, quoted))
          .reachesAs(ALICE, error(family, STRANGER, sent, quoted));
    }
  }

  private void serve(Family family, Server... servers) {
    node.services(family).put(ID, STRANGER, PORT, SCTP, 0, servers);
  }

  private static IpPacket error(Family family, ScenarioHost from, IpPacket about, int quoted) {
    return family
        .packet(from, ALICE)
        .from(BOB.mac())
        .to(BOB.hostMac())
        .icmpError(family.unreachableType(), 1, about, family.headers(true) + quoted);
  }

  private static IpPacket packet(
      Family family,
      ScenarioHost from,
      int fromPort,
      ScenarioHost to,
      int toPort,
      boolean isQuick) {
    final IpPacket packet = family.packet(from, to).payload("an odd number of bytes!");
    return slow(isQuick, packet.sctp(fromPort, toPort));
  }
}
