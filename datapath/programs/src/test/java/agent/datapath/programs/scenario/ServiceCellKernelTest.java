package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Packets to a service with a table. STRANGER has the address of the service; PEER has a backend
 * for each cell, whose port tells the cell; BOB is in the slots alone.
 */
@KernelTest
class ServiceCellKernelTest {
  private static final int ID = 7;
  private static final int VERSION = 65_535;
  private static final int PORT = 80;
  private static final int FIRST_SERVED = 8000;
  private static final int FIRST_CLIENT = 20_000;
  private static final int FLOWS = 1500;
  private static final int CELLS = 251;

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().with(ALICE, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  private static Server[] servers(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> new Server(PEER, FIRST_SERVED + i))
        .toArray(Server[]::new);
  }

  private void serve(Family family) {
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, PORT));
    node.services(family)
        .putTable(ID, VERSION, IntStream.range(0, CELLS).toArray(), servers(CELLS));
  }

  /** Opens a flow anew, and returns the backend that it gets. */
  private int selected(Family family, int flow) {
    final int client = FIRST_CLIENT + flow;
    if (node.flows().find(family, ALICE, client, STRANGER, PORT, UDP) != null) {
      node.flows().delete(family, ALICE, client, STRANGER, PORT, UDP);
    }
    final IpPacket query = family.packet(ALICE, STRANGER).udp(client, PORT);
    final Outcome outcome = node.fromWorkload(ALICE, query);
    final int port = outcome.parsed().destinationPort();
    outcome.passesAs(family.packet(ALICE, PEER).udp(client, port));
    return port - FIRST_SERVED;
  }

  private int[] selected(Family family) {
    return IntStream.range(0, FLOWS).map(flow -> selected(family, flow)).toArray();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSpreadTuplesEvenlyOverTheCells(Family family) {
    serve(family);
    final int[] flowsOf = new int[CELLS];
    for (final int cell : selected(family)) {
      flowsOf[cell]++;
    }
    final double mean = (double) FLOWS / CELLS;
    double chiSquare = 0;
    for (final int flows : flowsOf) {
      chiSquare += (flows - mean) * (flows - mean) / mean;
    }
    assertTrue(chiSquare < 362, "250 degrees of freedom, but for 5 deviations: " + chiSquare);
    assertTrue(chiSquare > 138, "too even for a hash: " + chiSquare);
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveATupleItsBackendAgainAlsoWhenAnotherOneGoes(Family family) {
    serve(family);
    final int[] before = selected(family);
    assertArrayEquals(before, selected(family));
    final int gone = before[0];
    final int[] choices = IntStream.range(0, CELLS).toArray();
    choices[gone] = (gone + 1) % CELLS;
    node.services(family).putTable(ID, VERSION - 1, choices, servers(CELLS));
    final int[] after = selected(family);
    for (int flow = 0; flow < FLOWS; flow++) {
      assertEquals(before[flow] == gone ? choices[gone] : before[flow], after[flow]);
    }
    assertNotEquals(gone, after[0]);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDrawFromTheSlotsWhileATableIsBeingReplaced(Family family) {
    serve(family);
    for (int part = 0; part < 4; part++) {
      node.services(family).removeCells(ID, VERSION, part);
    }
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(FIRST_CLIENT, PORT))
        .reachesAs(BOB, family.packet(ALICE, BOB).udp(FIRST_CLIENT, PORT));
  }

  /** The table is of the service of the packet, not of another with the same version. */
  @ParameterizedTest
  @EnumSource
  void shouldKnowTheTablesOfServicesApart(Family family) {
    node.services(family).putTable(ID - 1, VERSION, new int[CELLS], new Server(PEER, 9));
    node.services(family).put(ID, STRANGER, PORT, UDP, 0, new Server(BOB, PORT));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(FIRST_CLIENT, PORT))
        .reachesAs(BOB, family.packet(ALICE, BOB).udp(FIRST_CLIENT, PORT));
    serve(family);
    assertNotEquals(9, selected(family, 1) + FIRST_SERVED);
  }
}
