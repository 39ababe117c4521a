package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Family.slow;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;

import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Answers in a masqueraded connection whose entry for them was evicted. The stack, which does not
 * know the connection, would reset it before the workload's next packet opens the entries again.
 */
@KernelTest
class LostLegKernelTest {
  private static final int OWN = 40000;
  private static final int PORT = 80;

  private final ScenarioNode node =
      new ScenarioNode().withoutPolicy().routed().masquerade(DEVICE, NODE).own(NODE);

  @BeforeEach
  void putAllIntoTheOverflow() {
    node.capacity(0, 100);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private static IpPacket sent(Family family) {
    return family.packet(ALICE, PEER).tcp(OWN, PORT);
  }

  private static IpPacket answer(Family family, ScenarioHost to, int port) {
    return family.packet(PEER, to).to(DEVICE_MAC).tcp(PORT, port);
  }

  private void evict(Family family) {
    node.fromWorkload(ALICE, sent(family).syn()).passes();
    node.fromNetwork(answer(family, NODE, OWN).syn().ack())
        .reachesAs(ALICE, family.packet(PEER, ALICE).tcp(PORT, OWN).syn().ack());
    node.flows().deleteFromOverflow(family, NODE, OWN, PEER, PORT, TCP);
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAnswersUntilTheWorkloadOpensTheEntriesAgain(Family family) {
    evict(family);
    for (final boolean isQuick : new boolean[] {true, false}) {
      node.fromNetwork(slow(isQuick, answer(family, NODE, OWN).ack()))
          .dropsFor(DropReason.CONNTRACK_FULL);
      node.fromNetwork(slow(isQuick, answer(family, NODE, OWN).syn().ack()))
          .dropsFor(DropReason.CONNTRACK_FULL);
    }
    node.fromWorkload(ALICE, sent(family).ack()).isForwarded(); // which changes the state
    node.fromNetwork(answer(family, NODE, OWN).ack())
        .reachesAs(ALICE, family.packet(PEER, ALICE).tcp(PORT, OWN).ack());
  }

  @ParameterizedTest
  @EnumSource
  void shouldLeaveOtherSegmentsToTheStack(Family family) {
    evict(family);
    node.fromNetwork(answer(family, NODE, OWN + 1).ack()).passesUncounted();
    node.fromNetwork(family.packet(FAR, NODE).to(DEVICE_MAC).tcp(PORT, OWN).ack())
        .passesUncounted();
    node.fromNetwork(answer(family, NODE, OWN).syn()).passesUncounted();
    node.fromNetwork(family.packet(PEER, NODE).to(DEVICE_MAC).udp(PORT, OWN)).passesUncounted();
  }

  /** The flow of the entry has ended, or another one has it: the stack gets its segments. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveAnswersOfEntriesThatAreThere(Family family) {
    node.fromWorkload(ALICE, sent(family).syn()).passes();
    node.flows().expireInOverflow(family, NODE, OWN, PEER, PORT, TCP);
    node.fromNetwork(answer(family, NODE, OWN).ack()).passesUncounted();
  }

  /** A connection of the node has the tuple by now. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheSegmentsOfSocketsToTheStack(Family family) throws Exception {
    evict(family);
    final ServerSocket listener =
        node.network()
            .call(
                () -> {
                  final ServerSocket socket = new ServerSocket();
                  socket.bind(new InetSocketAddress("::", OWN));
                  return socket;
                });
    try (listener) {
      node.fromNetwork(answer(family, NODE, OWN).ack()).passesUncounted();
    }
    node.fromNetwork(answer(family, NODE, OWN).ack()).dropsFor(DropReason.CONNTRACK_FULL);
  }

  /** The program of the workload judges what was evicted of a flow that has its own address. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveTheConnectionsOfWorkloadsToTheirProgram(Family family) {
    node.forwardedToWorkload(ALICE, family.packet(PEER, ALICE).tcp(PORT, OWN).syn()).passes();
    node.fromWorkload(ALICE, sent(family).syn().ack()).isForwarded();
    node.flows().deleteFromOverflow(family, ALICE, OWN, PEER, PORT, TCP);
    node.fromNetwork(answer(family, ALICE, OWN).ack()).passesUncounted();
  }
}
