package agent.endpoint;

import agent.bindings.BpfProgram;
import agent.bindings.ProgramTestRun;
import agent.datapath.manager.DatapathManager;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.policy.model.Verdict;
import java.util.List;

/** Runs programs on single packets and derives the verdict from return value and counters. */
final class ProgramVerdicts implements AutoCloseable {
  private static final int TC_ACT_SHOT = 2;
  private static final List<DropReason> VERDICTS =
      List.of(DropReason.NONE, DropReason.POLICY_DENIED, DropReason.POLICY_DENY_RULE);

  private final DatapathManager datapath;
  private final ProgramTestRun testRun = new ProgramTestRun(512);
  private boolean isCountedAtPeer;

  ProgramVerdicts(DatapathManager datapath) {
    this.datapath = datapath;
  }

  /**
   * Returns the verdict on one packet.
   *
   * @param program the program of the endpoint
   * @param isSent true for a packet from the endpoint, false for one to it
   * @param frame the packet, from the Ethernet header
   * @param ifindex the host side of its veth
   * @param receivedBy the interface that received a packet to the endpoint, 0 for none
   */
  Verdict of(BpfProgram program, boolean isSent, byte[] frame, int ifindex, int receivedBy) {
    final MetricsDirection own = isSent ? MetricsDirection.EGRESS : MetricsDirection.INGRESS;
    final MetricsDirection peers = isSent ? MetricsDirection.INGRESS : MetricsDirection.EGRESS;
    final long[] ownBefore = counters(own.number());
    final long[] peersBefore = counters(peers.number());
    testRun.input(frame);
    testRun.receivedBy(receivedBy);
    final int error = testRun.run(program, frame.length, ifindex, 1);
    if (error != 0) {
      throw new IllegalStateException("BPF_PROG_TEST_RUN: " + error);
    }
    final DropReason counted = counted(ownBefore, counters(own.number()));
    final DropReason countedAtPeer = counted(peersBefore, counters(peers.number()));
    if ((counted == null) == (countedAtPeer == null)) {
      throw new IllegalStateException(
          "counted %s and at the peer %s, program returned %d"
              .formatted(counted, countedAtPeer, testRun.returnValue()));
    }
    isCountedAtPeer = counted == null;
    return verdictOf(isCountedAtPeer ? countedAtPeer : counted, testRun.returnValue());
  }

  /** Returns whether the last packet was counted for the endpoint on the other side. */
  boolean isCountedAtPeer() {
    return isCountedAtPeer;
  }

  /** Returns the verdict that was counted. Link control of the workloads is dropped meanwhile. */
  private static DropReason counted(long[] before, long[] after) {
    for (final DropReason reason : VERDICTS) {
      if (after[reason.number()] != before[reason.number()]) {
        return reason;
      }
    }
    return null;
  }

  private long[] counters(int direction) {
    final long[] counters = new long[DropReason.values().length];
    datapath
        .metrics()
        .forEach(
            (counted, reason, packets, bytes) -> {
              if (counted == direction) {
                counters[reason] = packets;
              }
            });
    return counters;
  }

  /** Returns the verdict; the counter and the return value of the program must agree. */
  private static Verdict verdictOf(DropReason reason, int returned) {
    if ((returned == TC_ACT_SHOT) != (reason != DropReason.NONE)) {
      throw new IllegalStateException("counted " + reason + ", program returned " + returned);
    }
    return switch (reason) {
      case NONE -> Verdict.ALLOWED;
      case POLICY_DENIED -> Verdict.NOT_ALLOWED;
      case POLICY_DENY_RULE -> Verdict.DENIED;
      default -> throw new IllegalStateException("dropped for " + reason);
    };
  }

  @Override
  public void close() {
    testRun.close();
  }
}
