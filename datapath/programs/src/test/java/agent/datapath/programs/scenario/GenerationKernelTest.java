package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The verdict on a flow is valid as long as the generations of both sides, and no longer. */
@KernelTest
class GenerationKernelTest {
  private static final List<ScenarioHost> OUTSIDE = List.of(PEER, FAR);

  /** An identity that no policy names. */
  private static final int OTHER_IDENTITY = 999;

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheVerdictOnAFlowToAnOutsideAddressUntilEitherSideChanges(Family family) {
    node.routed();
    for (final ScenarioHost peer : OUTSIDE) {
      final List<Runnable> changes =
          List.of(() -> node.raiseGeneration(ALICE.id), () -> node.raiseShardsOf(peer));
      for (final Runnable change : changes) {
        node.raiseGeneration(ALICE.id);
        node.writeIdentity(peer, peer.identity);
        node.raiseShardsOf(peer);
        node.raiseShardsOf(peer);
        node.policyOf(ALICE).allowTo(peer, UDP, 53);
        node.fromWorkload(ALICE, family.packet(ALICE, peer).udp(40000, 53)).passes();
        node.writeIdentity(peer, OTHER_IDENTITY);
        node.fromWorkload(ALICE, family.packet(ALICE, peer).udp(40000, 53)).leaves();
        node.toWorkload(ALICE, family.packet(peer, ALICE).udp(53, 40000)).passes();
        node.fromNetwork(family.packet(peer, ALICE).to(DEVICE_MAC).udp(53, 40000)).reaches(ALICE);
        change.run();
        node.fromNetwork(family.packet(peer, ALICE).to(DEVICE_MAC).udp(53, 40000))
            .passesUncounted();
        node.fromWorkload(ALICE, family.packet(ALICE, peer).udp(40000, 53))
            .dropsFor(DropReason.POLICY_DENIED);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheVerdictOnAFlowOfTwoWorkloadsUntilEitherChanges(Family family) {
    for (final ScenarioHost changed : List.of(ALICE, BOB)) {
      node.writeIdentity(BOB, BOB.identity);
      node.raiseGeneration(ALICE.id);
      node.raiseGeneration(BOB.id);
      node.raiseGeneration(BOB.id);
      node.policyOf(ALICE).allowTo(BOB, UDP, 53);
      node.policyOf(BOB).allowFrom(ALICE, UDP, 53);
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
      node.writeIdentity(BOB, OTHER_IDENTITY);
      node.raiseShardsOf(BOB);
      node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40000, 53)).reaches(BOB);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000)).reaches(ALICE);
      node.raiseGeneration(changed.id);
      node.fromWorkload(BOB, family.packet(BOB, ALICE).udp(53, 40000))
          .dropsAtPeerFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeAFlowOfAnOutsideAddressAgainAsTheSameFlow(Family family) {
    for (final ScenarioHost peer : OUTSIDE) {
      node.policyOf(ALICE).allowTo(peer, TCP, 80);
      node.fromWorkload(ALICE, family.packet(ALICE, peer).tcp(40000, 80).syn()).passes();
      node.raiseShardsOf(peer);
      node.toWorkload(ALICE, family.packet(peer, ALICE).tcp(80, 40000).syn().ack()).passes();
      assertEquals(ALICE, node.flows().find(family, ALICE, 40000, peer, 80, TCP).initiator());
    }
  }

  /** The endpoint has stopped tracking flows: its policy judges each packet of the old one. */
  @ParameterizedTest
  @EnumSource
  void shouldNotDeliverFromTheNetworkToAnEndpointThatTracksNoFlowsAnyMore(Family family) {
    node.routed();
    for (final ScenarioHost peer : OUTSIDE) {
      node.with(ALICE, EndpointOption.CONNTRACK);
      node.policyOf(ALICE).allowTo(peer, UDP, 53);
      node.fromWorkload(ALICE, family.packet(ALICE, peer).udp(40000, 53)).passes();
      node.fromNetwork(family.packet(peer, ALICE).to(DEVICE_MAC).udp(53, 40000)).reaches(ALICE);
      node.without(ALICE, EndpointOption.CONNTRACK);
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, family.packet(ALICE, peer).udp(40000, 53)).passes();
      node.fromNetwork(family.packet(peer, ALICE).to(DEVICE_MAC).udp(53, 40000)).passesUncounted();
      node.toWorkload(ALICE, family.packet(peer, ALICE).udp(53, 40000))
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotForwardAnErrorAboutAFlowOfTheEarlierOwnerOfAnAddress(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    final IpPacket query = family.packet(ALICE, PEER).udp(40000, 53);
    node.fromWorkload(ALICE, query).passes();
    final IpPacket error = family.packet(PEER, ALICE).icmpError(family.unreachableType(), 1, query);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, error).passes();
    node.reassign(ALICE);
    node.toWorkload(ALICE, error).dropsFor(DropReason.ICMP_ERROR_UNTRACKED);
  }
}
