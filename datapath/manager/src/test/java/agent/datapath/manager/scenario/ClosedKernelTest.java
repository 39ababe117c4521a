package agent.datapath.manager.scenario;

import static agent.datapath.manager.scenario.ScenarioHost.ALICE;
import static agent.datapath.manager.scenario.ScenarioHost.BOB;
import static agent.datapath.manager.scenario.ScenarioHost.PEER;

import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The programs of an endpoint whose own programs are not loaded yet drop each direction. */
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
      node.closed(
              "closed_from_endpoint",
              family.packet(ALICE, to).udp(40000, 53),
              MetricsDirection.EGRESS)
          .dropsFor(DropReason.NO_ENDPOINT);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropPacketsToTheWorkload(Family family) {
    for (final ScenarioHost from : new ScenarioHost[] {BOB, PEER}) {
      node.closed(
              "closed_to_endpoint",
              family.packet(from, ALICE).udp(40000, 53),
              MetricsDirection.INGRESS)
          .dropsFor(DropReason.NO_ENDPOINT);
    }
  }
}
