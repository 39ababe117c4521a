package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.layout.ConntrackFlag;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** TCP resets: those that end a connection, and blind ones. RFC 5961. */
@KernelTest
class ResetKernelTest {
  private static final int ESTABLISHED_SEC = 21_600;
  private static final int CLOSING_SEC = 10;

  /** What ALICE has acknowledged, close to where the numbers wrap around. */
  private static final int ALICE_EXPECTS = 0xffff_f000;

  private static final int PEER_EXPECTS = 5_000_000;
  private static final int MEGABYTE = 1 << 20;

  private final ScenarioNode node = new ScenarioNode().withoutPolicy();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAConnectionAtAResetOfTheExpectedNumber(Family family) {
    establish(family);
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAConnectionAtAResetBehindDataOnItsWay(Family family) {
    establish(family);
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS + MEGABYTE)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldForwardABlindResetAndKeepTheConnection(Family family) {
    establish(family);
    for (final int offset : new int[] {-2 * MEGABYTE, 8 * MEGABYTE, Integer.MIN_VALUE}) {
      node.toWorkload(ALICE, reset(family, ALICE_EXPECTS + offset)).passes();
      assertClosing(family, false);
    }
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).rst().sequence(77)).passes();
    assertClosing(family, false);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepAConnectionWhoseVerdictIsRenewedByABlindReset(Family family) {
    establish(family);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS + 8 * MEGABYTE)).passes();
    assertClosing(family, false);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowWhatTheReceiverAcknowledges(Family family) {
    establish(family);
    final int later = ALICE_EXPECTS + 50 * MEGABYTE;
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack(later)).passes();
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, false);
    node.toWorkload(ALICE, reset(family, later)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAConnectionThatTheWorkloadResets(Family family) {
    establish(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).rst().sequence(PEER_EXPECTS))
        .passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldCloseAConnectionThatIsRefusedByAResetOfAnyNumber(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, reset(family, Integer.MIN_VALUE)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldIgnoreTheAcknowledgementOfAPacketWithoutOne(Family family) {
    establish(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldFollowWhatTheReceiverAcknowledgesAsItsVerdictIsRenewed(Family family) {
    final int later = ALICE_EXPECTS + 50 * MEGABYTE;
    establish(family);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack(later)).passes();
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, false);
    node.toWorkload(ALICE, reset(family, later)).passes();
    assertClosing(family, true);
  }

  @ParameterizedTest
  @EnumSource
  void shouldKnowWhatTheFirstPacketOfAConnectionAcknowledges(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack(ALICE_EXPECTS)).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).ack(PEER_EXPECTS)).passes();
    node.toWorkload(ALICE, reset(family, ALICE_EXPECTS)).passes();
    assertClosing(family, true);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(81, 40000).ack(PEER_EXPECTS)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 81).ack(ALICE_EXPECTS)).passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 81).rst().sequence(PEER_EXPECTS))
        .passes();
    assertTrue(node.flows().find(family, ALICE, 40000, PEER, 81, TCP).has(ConntrackFlag.SEEN_RST));
  }

  @ParameterizedTest
  @EnumSource
  void shouldJudgeResetsOnTheSlowPathAsOnTheFastOne(Family family) {
    final int later = ALICE_EXPECTS + 50 * MEGABYTE;
    establish(family);
    node.fromWorkload(ALICE, slow(family.packet(ALICE, PEER).tcp(40000, 80).ack(later))).passes();
    node.toWorkload(ALICE, slow(reset(family, ALICE_EXPECTS))).passes();
    assertClosing(family, false);
    node.toWorkload(ALICE, slow(reset(family, later))).passes();
    assertClosing(family, true);
  }

  /** Adds IP options or an extension header, which the quick parser does not handle. */
  private static IpPacket slow(IpPacket packet) {
    final int noOperation = 1;
    return packet.options(noOperation).extension(IpPacket.DESTINATION_OPTIONS, 1);
  }

  private void establish(Family family) {
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(80, 40000).syn().ack(PEER_EXPECTS))
        .passes();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack(ALICE_EXPECTS)).passes();
    assertClosing(family, false);
  }

  private static IpPacket reset(Family family, int sequence) {
    return family.packet(PEER, ALICE).tcp(80, 40000).rst().sequence(sequence);
  }

  private void assertClosing(Family family, boolean isClosing) {
    final Flows.Flow flow = node.flows().find(family, ALICE, 40000, PEER, 80, TCP);
    assertEquals(isClosing, flow.has(ConntrackFlag.SEEN_RST), flow::toString);
    assertEquals(
        isClosing ? CLOSING_SEC : ESTABLISHED_SEC,
        flow.lifetime().plusSeconds(2).toSeconds() / 2 * 2,
        2,
        flow::toString);
  }
}
