package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Flows whose entry the kernel does not take: what is not remembered is not forwarded. */
@KernelTest
class FullTableKernelTest {
  private final ScenarioNode node =
      new ScenarioNode().fullFlowTables(1).withoutPolicy().with(ALICE, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAFlowThatItsTableDoesNotTake(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).syn()).reaches(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40001, 80).syn())
        .dropsFor(DropReason.CONNTRACK_FULL);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).tcp(40000, 80).ack()).reaches(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40001, 80)).reaches(BOB);
    node.fromWorkload(ALICE, family.packet(ALICE, BOB).udp(40002, 80))
        .dropsFor(DropReason.CONNTRACK_FULL);
  }

  /** It has two entries, of which the table takes one. */
  @ParameterizedTest
  @EnumSource
  void shouldDropAFlowToAServiceWhoseSecondEntryItDoesNotTake(Family family) {
    node.services(family).put(7, STRANGER, 80, TCP, 0, new Server(BOB, 8080));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(40000, 80).syn())
        .dropsFor(DropReason.CONNTRACK_FULL);
  }
}
