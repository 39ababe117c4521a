package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.maps.layout.MetricsDirection.EGRESS;
import static agent.maps.layout.MetricsDirection.INGRESS;

import agent.maps.layout.DropReason;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The programs drop each direction of an interface that no endpoint has. */
@KernelTest
class ClosedKernelTest {
  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsFromTheWorkload(Family family) {
    for (final ScenarioHost to : new ScenarioHost[] {BOB, PEER}) {
      node.ofNoEndpoint("from_endpoint", family.packet(ALICE, to).udp(40000, 53), EGRESS)
          .dropsFor(DropReason.NO_ENDPOINT);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsToTheWorkload(Family family) {
    for (final ScenarioHost from : new ScenarioHost[] {BOB, PEER}) {
      node.ofNoEndpoint("to_endpoint", family.packet(from, ALICE).udp(40000, 53), INGRESS)
          .dropsFor(DropReason.NO_ENDPOINT);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsOfAnInterfaceWhoseCellIsOfAnother(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.ofAnotherInterface("from_endpoint", family.packet(ALICE, PEER).udp(40000, 53), EGRESS)
        .dropsFor(DropReason.NO_ENDPOINT);
    node.ofAnotherInterface("to_endpoint", family.packet(PEER, ALICE).udp(53, 40000), INGRESS)
        .dropsFor(DropReason.NO_ENDPOINT);
  }

  /** Slot 0 of the endpoints belongs to no endpoint, whatever it holds. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeAnEmptyCellForEndpointZero(Family family) {
    node.fillEndpointZero();
    node.ofNoEndpoint("from_endpoint", family.packet(ALICE, PEER).udp(40000, 53), EGRESS)
        .dropsFor(DropReason.NO_ENDPOINT);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFindTheEndpointOfAnInterfaceWhoseCellIsOfAnotherInTheOverflow(Family family) {
    node.overflow(ALICE);
    node.ofAnotherInterface("from_endpoint", family.packet(ALICE, PEER).udp(40000, 53), EGRESS)
        .passes();
    node.ofAnotherInterface("to_endpoint", family.packet(PEER, ALICE).udp(53, 40000), INGRESS)
        .passes();
    node.ofAnotherInterface("from_endpoint", family.packet(BOB, PEER).udp(40000, 53), EGRESS)
        .dropsFor(DropReason.INVALID_SOURCE_MAC);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsOfAnEndpointWithoutEntry(Family family) {
    node.unregister(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53))
        .dropsFor(DropReason.NO_ENDPOINT);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).udp(53, 40000))
        .dropsFor(DropReason.NO_ENDPOINT);
  }
}
