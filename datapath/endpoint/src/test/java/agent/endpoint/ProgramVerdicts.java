package agent.endpoint;

import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.ProgramTestRun;
import agent.datapath.manager.DatapathManager;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import java.util.List;

/** Runs programs on single packets and derives the verdict from return value and counters. */
final class ProgramVerdicts implements AutoCloseable {
  private static final int TC_ACT_SHOT = 2;

  /** What is counted of the packets of a test. Link control of the workloads is dropped, too. */
  private static final List<DropReason> VERDICTS =
      List.of(
          DropReason.NONE,
          DropReason.POLICY_DENIED,
          DropReason.POLICY_DENY_RULE,
          DropReason.MALFORMED,
          DropReason.ICMP_ERROR_UNTRACKED);

  private final DatapathManager datapath;
  private final ProgramTestRun testRun = new ProgramTestRun(512);
  private final BpfMap waiting;
  private final EntryBuffer owner;
  private long[][] counters;

  /**
   * What a program did with a packet.
   *
   * @param reason why it was dropped, NONE for a packet that passes
   * @param atPeer whether it was counted for the endpoint on the other side
   */
  record Counted(DropReason reason, boolean atPeer) {}

  ProgramVerdicts(DatapathManager datapath) {
    this.datapath = datapath;
    waiting = datapath.maps().find("early_owners").orElseThrow();
    owner = new EntryBuffer(waiting);
    counters = read();
  }

  /**
   * Runs a program on one packet.
   *
   * @param program the program of the endpoint
   * @param isSent true for a packet from the endpoint, false for one to it
   * @param frame the packet, from the Ethernet header
   * @param ifindex the host side of its veth
   * @param receivedBy the interface that received a packet to the endpoint, 0 for none
   */
  Counted of(BpfProgram program, boolean isSent, byte[] frame, int ifindex, int receivedBy) {
    final MetricsDirection own = isSent ? MetricsDirection.EGRESS : MetricsDirection.INGRESS;
    final MetricsDirection peers = isSent ? MetricsDirection.INGRESS : MetricsDirection.EGRESS;
    forgetWhatWaits(ifindex, isSent);
    testRun.input(frame);
    testRun.receivedBy(receivedBy);
    final int error = testRun.run(program, frame.length, ifindex, 1);
    if (error != 0) {
      throw new IllegalStateException("BPF_PROG_TEST_RUN: " + error);
    }
    final long[][] before = counters;
    counters = read();
    final DropReason counted = counted(before, own);
    final DropReason countedAtPeer = counted(before, peers);
    if (counted == null && countedAtPeer == null && testRun.returnValue() == TC_ACT_SHOT) {
      return new Counted(DropReason.FRAGMENT_NOT_FOUND, false); // it waits for its first fragment
    }
    if ((counted == null) == (countedAtPeer == null)) {
      throw new IllegalStateException(
          "counted %s and at the peer %s, program returned %d"
              .formatted(counted, countedAtPeer, testRun.returnValue()));
    }
    final DropReason reason = counted == null ? countedAtPeer : counted;
    if ((testRun.returnValue() == TC_ACT_SHOT) != (reason != DropReason.NONE)) {
      throw new IllegalStateException(
          "counted " + reason + ", program returned " + testRun.returnValue());
    }
    return new Counted(reason, counted == null);
  }

  /**
   * Makes no first fragment send those that wait for it, so that each run is that of one packet.
   */
  private void forgetWhatWaits(int ifindex, boolean isSent) {
    owner.key().putInt(0, isSent ? ifindex : ifindex | Integer.MIN_VALUE);
    waiting.delete(owner);
  }

  /** Returns the reason that was counted since; NONE for a forwarded packet, null for none. */
  private DropReason counted(long[][] before, MetricsDirection direction) {
    DropReason counted = null;
    for (final DropReason reason : VERDICTS) {
      final int number = reason.number();
      if (counters[direction.number()][number] != before[direction.number()][number]) {
        if (counted != null) {
          throw new IllegalStateException("counted " + counted + " and " + reason);
        }
        counted = reason;
      }
    }
    return counted;
  }

  private long[][] read() {
    final long[][] read = new long[MetricsDirection.values().length][DropReason.values().length];
    datapath
        .metrics()
        .forEach((direction, reason, packets, bytes) -> read[direction][reason] = packets);
    return read;
  }

  @Override
  public void close() {
    testRun.close();
  }
}
