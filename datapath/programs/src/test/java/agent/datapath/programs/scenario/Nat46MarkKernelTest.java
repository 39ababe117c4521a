package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.Nat46Packets.received;
import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.ProgramTestRun;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.PacketCapture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A container of the same node whose interface has no program writes the mark of the programs into
 * its packets. These meet to_endpoint at the device of BPF_PROG_TEST_RUN and come out of it.
 */
@KernelTest(since = "6.6")
class Nat46MarkKernelTest {
  private static final int ETHERTYPE_IPV6 = 0x86dd;
  private static final int WAIT_MS = 2000;
  private static final int SILENCE_MS = 50;
  private static final int BYTES = 600;

  /** More than fits a link of 1,500 bytes in one packet of IPv6. */
  private static final int MOST_BYTES = 1470;

  private final ScenarioNode node = new ScenarioNode().nat46().routed();
  private final ProgramTestRun run = new ProgramTestRun(4096);
  private final BpfObject forger = ScenarioObject.open("forge").object();
  private PacketCapture capture;
  private BpfLink link;

  @BeforeEach
  void open() {
    forger.load();
    capture = node.network().capture(ETHERTYPE_IPV6, ALICE);
  }

  @AfterEach
  void close() {
    link.close();
    capture.close();
    forger.close();
    run.close();
    node.close();
  }

  private void send(String program, IpPacket packet) {
    final byte[] frame = packet.bytes();
    run.input(frame);
    final int result =
        node.network().call(() -> run.run(forger.program(program), frame.length, 0, 1));
    assertEquals(0, result, program);
  }

  private static IpPacket toAlice(int bytes) {
    return Family.IPV4.packet(PEER, ALICE).udp(53, Nat46Packets.CLIENT).payloadOf(bytes);
  }

  private static byte[] translated() {
    return received(PEER, ALICE).udp(53, Nat46Packets.CLIENT).payloadOf(BYTES).bytes();
  }

  private long denied() {
    return node.packets(MetricsDirection.INGRESS, DropReason.POLICY_DENIED);
  }

  @Test
  void shouldJudgeWhatAnotherNamespaceHasMarked() {
    link = node.limit(ALICE, 1500);
    for (final String program : new String[] {"forge_to_translate", "forge_first_piece"}) {
      final long before = denied();
      send(program, toAlice(BYTES));
      assertTrue(capture.next(SILENCE_MS).isEmpty(), program);
      assertEquals(before + 1, denied(), program);
    }
  }

  @Test
  void shouldTranslateWhatAProgramHasJudged() {
    link = node.limit(ALICE, 1500);
    send("deliver_judged", toAlice(BYTES));
    assertArrayEquals(translated(), capture.next(WAIT_MS).orElseThrow());
    assertEquals(0, denied());
  }

  /** The packet is of a flow of the workload, and whole. */
  @Test
  void shouldNotCutWhatAnotherNamespaceHasMarked() {
    node.withoutPolicy();
    final IpPacket query = Nat46Packets.of("udp", Nat46Packets.sent(ALICE, PEER), BYTES, false);
    assertEquals(Outcome.PASS, node.fromWorkload(ALICE, query).action());
    link = node.limit(ALICE, 1500);
    send("forge_first_piece", toAlice(MOST_BYTES));
    assertTrue(capture.next(WAIT_MS).isPresent(), "the first piece");
    assertTrue(capture.next(WAIT_MS).isPresent(), "the second piece");
  }
}
