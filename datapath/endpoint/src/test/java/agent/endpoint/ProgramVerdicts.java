package agent.endpoint;

import agent.bindings.BpfProgram;
import agent.bindings.ProgramTestRun;
import agent.datapath.manager.DatapathManager;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.policy.model.Verdict;

/** Runs programs on single packets and derives the verdict from return value and counters. */
final class ProgramVerdicts implements AutoCloseable {
  private static final int TC_ACT_SHOT = 2;

  private final DatapathManager datapath;
  private final ProgramTestRun testRun = new ProgramTestRun(512);

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
   */
  Verdict of(BpfProgram program, boolean isSent, byte[] frame, int ifindex) {
    final int direction = (isSent ? MetricsDirection.EGRESS : MetricsDirection.INGRESS).number();
    final long[] before = counters(direction);
    testRun.input(frame);
    final int error = testRun.run(program, frame.length, ifindex, 1);
    if (error != 0) {
      throw new IllegalStateException("BPF_PROG_TEST_RUN: " + error);
    }
    final long[] after = counters(direction);
    for (int reason = 0; reason < after.length; reason++) {
      if (after[reason] != before[reason]) {
        return verdictOf(DropReason.values()[reason], testRun.returnValue());
      }
    }
    throw new IllegalStateException(
        "no counter changed, program returned " + testRun.returnValue());
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
