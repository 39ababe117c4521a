package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.MappedMemory;
import agent.bindings.bpf.BpfObject;
import agent.conntrack.ProgramSweeper;
import agent.maps.kernel.BpfMap;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import agent.maps.layout.DropReason;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Segments of TCP from the middle of a connection that has no entry, of a workload that may only
 * answer: they pass where this node may have lost the entry, and nowhere else.
 */
@KernelTest
class LostFlowKernelTest {
  private static final int SLOT_BYTES = 48;
  private static final int PUT_NS_OFFSET = 40;

  /** What TCP sends that opens nothing. */
  private static final List<UnaryOperator<IpPacket>> SEGMENTS =
      List.of(
          IpPacket::ack,
          segment -> segment.ack().payload("data"),
          segment -> segment.fin().ack(),
          segment -> segment);

  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropSegmentsOfConnectionsThatItNeverKnew(Family family) {
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80).allowFrom(BOB, TCP, 80);
    node.policyOf(BOB).allowAll();
    for (final UnaryOperator<IpPacket> segment : SEGMENTS) {
      for (final ScenarioHost to : List.of(PEER, BOB)) {
        node.fromWorkload(ALICE, segment.apply(family.packet(ALICE, to).tcp(80, 40000)))
            .dropsFor(DropReason.POLICY_DENIED);
      }
      final IpPacket byStack = family.packet(ALICE, BOB).from(BOB.hostMac()).to(BOB.mac());
      node.forwardedToWorkload(ALICE.ifindex, BOB, segment.apply(byStack.tcp(80, 40000)).bytes())
          .dropsAtPeerFor(DropReason.POLICY_DENIED);
    }
    assertEquals(0, node.flows().count());
  }

  @ParameterizedTest
  @EnumSource
  void shouldBelieveThatEntriesAreMissingForAWhileOnly(Family family) {
    final IpPacket answer = family.packet(ALICE, PEER).tcp(80, 40000).ack();
    node.mayHaveLostFlows().policyOf(ALICE).allowFrom(PEER, TCP, 80);
    node.fromWorkload(ALICE, answer).passes();
    try (ScenarioNode later = new ScenarioNode()) {
      later.flowsLostUntil(System.nanoTime()).policyOf(ALICE).allowFrom(PEER, TCP, 80);
      later.fromWorkload(ALICE, answer).dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotBelieveAgainstARuleThatDenies(Family family) {
    node.mayHaveLostFlows();
    node.policyOf(ALICE)
        .allowFrom(PEER, TCP, 80)
        .allowFrom(BOB, TCP, 80)
        .denyTo(PEER, TCP, 40000)
        .denyTo(BOB, TCP, 40000);
    node.policyOf(BOB).allowAll().denyFrom(ALICE, TCP, 40001);
    final IpPacket toPeer = family.packet(ALICE, PEER);
    final IpPacket toBob = family.packet(ALICE, BOB);
    node.fromWorkload(ALICE, toPeer.tcp(80, 40000).ack().payload("data"))
        .dropsFor(DropReason.POLICY_DENY_RULE);
    node.fromWorkload(ALICE, toBob.tcp(80, 40000).ack().payload("data"))
        .dropsFor(DropReason.POLICY_DENY_RULE);
    node.fromWorkload(ALICE, toBob.tcp(80, 40001).ack().payload("data"))
        .dropsFor(DropReason.POLICY_DENIED);
    assertEquals(0, node.flows().count());
    node.fromWorkload(ALICE, toPeer.tcp(80, 40002).ack().payload("data")).passes();
    node.fromWorkload(ALICE, toBob.tcp(80, 40002).ack().payload("data")).reaches(BOB);
  }

  @ParameterizedTest
  @EnumSource
  void shouldContinueTheConnectionWhoseEntryWasEvictedAndNoOther(Family family) {
    overflow(family);
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40001).ack())
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    assertEquals(PEER, node.flows().find(family, ALICE, 80, PEER, 40000, TCP).initiator());
  }

  @ParameterizedTest
  @EnumSource
  void shouldRememberTheConnectionOfAnAnswerWithOptions(Family family) {
    open(family, false);
    evict(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
  }

  /** Whoever only asks for connections takes no slot from others. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveNoSlotToAConnectionThatIsNotAnswered(Family family) {
    begin(family);
    evict(family);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldRememberAConnectionThatIsOpenedAgainByAnAnswer(Family family) {
    overflow(family);
    age(21_590);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
    evict(family);
    age(20);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldForgetAnEvictedConnectionThatWouldHaveExpired(Family family) {
    overflow(family);
    age(21_601);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldForgetAConnectionWhoseEntryASweepDeletes(Family family) {
    open(family);
    node.flows().expireInOverflow(family, ALICE, 80, PEER, 40000, TCP);
    final BpfObject object = node.load("conntrack_gc", ignored -> {});
    try (ProgramSweeper sweeper = new ProgramSweeper(object.program("conntrack_sweep"))) {
      final ConntrackTable table =
          family == Family.IPV4 ? ConntrackTable.OVERFLOW4 : ConntrackTable.OVERFLOW6;
      final ConntrackSweepFlyweight result = new ConntrackSweepFlyweight();
      assertEquals(0, sweeper.sweep(table.number(), false, result));
      assertEquals(1, result.deleted());
    }
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  /** A later connection has the slot of the first. */
  @ParameterizedTest
  @EnumSource
  void shouldCompareTheWholeTupleOfAnEvictedConnection(Family family) {
    overflow(family);
    change();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(80, 40000).ack())
        .dropsFor(DropReason.POLICY_DENIED);
  }

  /** Opens a connection of the outside whose entry is in the overflow, and evicts it. */
  private void overflow(Family family) {
    open(family);
    evict(family);
  }

  private void evict(Family family) {
    node.flows().deleteFromOverflow(family, ALICE, 80, PEER, 40000, TCP);
  }

  private void open(Family family) {
    open(family, true);
  }

  private void open(Family family, boolean isQuick) {
    begin(family);
    node.fromWorkload(
            ALICE, Family.slow(isQuick, family.packet(ALICE, PEER)).tcp(80, 40000).syn().ack())
        .passes();
  }

  /** The outside asks for a connection. */
  private void begin(Family family) {
    node.capacity(0, 100);
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80).allowFrom(STRANGER, TCP, 80);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40000, 80).syn()).passes();
  }

  /** Moves the time at which connections were put into the overflow into the past. */
  private void age(long seconds) {
    forEachSlot(
        (memory, offset) -> {
          final long putNs = memory.segment().get(ValueLayout.JAVA_LONG, offset + PUT_NS_OFFSET);
          if (putNs != 0) {
            memory
                .segment()
                .set(
                    ValueLayout.JAVA_LONG,
                    offset + PUT_NS_OFFSET,
                    putNs - seconds * ScenarioNode.SECOND_NS);
          }
        });
  }

  /** Changes one bit of each connection. */
  private void change() {
    forEachSlot(
        (memory, offset) -> {
          final long word = memory.segment().get(ValueLayout.JAVA_LONG, offset + Long.BYTES);
          memory.segment().set(ValueLayout.JAVA_LONG, offset + Long.BYTES, word ^ 1);
        });
  }

  private interface Slot {
    void at(MappedMemory memory, long offset);
  }

  private void forEachSlot(Slot slot) {
    final BpfMap map = node.map("overflow_flows");
    final long bytes = (long) map.maxEntries() * SLOT_BYTES;
    try (MappedMemory memory = MappedMemory.map(map.fd(), 0, bytes, true)) {
      for (long offset = 0; offset < bytes; offset += SLOT_BYTES) {
        slot.at(memory, offset);
      }
    }
  }
}
