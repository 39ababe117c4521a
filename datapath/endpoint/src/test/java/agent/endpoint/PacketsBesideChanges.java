package agent.endpoint;

import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.ProgramTestRun;
import agent.endpoint.model.ModelPacket;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * A thread that runs programs on packets while the agent goes from one state to the other and back.
 * While a change is under way, a packet that passes in both states passes, and one that neither
 * lets pass is dropped; otherwise each has the verdict of the present state. Every run of a packet
 * has another source port, and after some rounds again the same: there are first packets of flows,
 * and flows whose verdict is renewed.
 */
final class PacketsBesideChanges implements AutoCloseable {
  static final int FIRST_PORT = 10_000;
  static final int PORTS = 61;
  private static final int TC_ACT_SHOT = 2;
  private static final int PORT_OFFSET4 = 34;
  private static final int PORT_OFFSET6 = 54;

  /**
   * A packet, and whether it passes in each of the two states.
   *
   * @param ifindex the interface whose program meets it
   * @param receivedBy the interface that received it, 0 for none
   */
  record Probe(
      ModelPacket packet,
      BpfProgram program,
      byte[] frame,
      int ifindex,
      int receivedBy,
      boolean[] passes) {}

  private final List<Probe> probes;
  private final CountDownLatch ended = new CountDownLatch(1);

  /** Even: the state of index {@code epoch / 2 % 2} is in force; odd: a change is under way. */
  private volatile int epoch;

  private volatile int rounds;
  private volatile boolean isClosing;
  private volatile String failure;
  private volatile long duringChanges;

  /** Starts the thread in the node's namespace, in the first state. */
  PacketsBesideChanges(KernelRig agent, List<Probe> probes) {
    this.probes = probes;
    agent.namespace().start("packets", this::run);
  }

  /** Makes a change from the present state to the other one, and lets packets run after it. */
  void change(Runnable change) {
    epoch++;
    change.run();
    epoch++;
    final int before = rounds;
    while (rounds < before + 2 && failure == null) {
      Thread.onSpinWait();
    }
    if (failure != null) {
      throw new AssertionError(failure);
    }
  }

  /** Returns how many packets ran while a change was under way. */
  long duringChanges() {
    return duringChanges;
  }

  private void run() {
    try (ProgramTestRun testRun = new ProgramTestRun(512)) {
      while (!isClosing && failure == null) {
        for (final Probe probe : probes) {
          runOne(testRun, probe, FIRST_PORT + rounds % PORTS);
        }
        rounds++;
      }
    } catch (RuntimeException | Error thrown) {
      failure = "the packets ended: " + thrown;
    } finally {
      ended.countDown();
    }
  }

  private void runOne(ProgramTestRun testRun, Probe probe, int port) {
    final byte[] frame = probe.frame();
    final int offset = probe.packet().isIpv4() ? PORT_OFFSET4 : PORT_OFFSET6;
    frame[offset] = (byte) (port >>> 8);
    frame[offset + 1] = (byte) port;
    testRun.input(frame);
    testRun.receivedBy(probe.receivedBy());
    final int before = epoch;
    final int error = testRun.run(probe.program(), frame.length, probe.ifindex(), 1);
    final int after = epoch;
    if (error != 0) {
      throw new IllegalStateException("BPF_PROG_TEST_RUN: " + error);
    }
    final boolean passed = testRun.returnValue() != TC_ACT_SHOT;
    final boolean isStill = before == after && before % 2 == 0;
    final boolean isRight =
        isStill
            ? passed == probe.passes()[before / 2 % 2]
            : passed
                ? probe.passes()[0] || probe.passes()[1]
                : !(probe.passes()[0] && probe.passes()[1]);
    if (!isRight) {
      failure = describe(probe, port, passed, isStill);
    }
    if (!isStill) {
      duringChanges++;
    }
  }

  private String describe(Probe probe, int port, boolean passed, boolean isStill) {
    return "%s, source port %d, %s %s in state %d; it passes in the first state: %s, second: %s"
        .formatted(
            probe.packet(),
            port,
            passed ? "passes" : "is dropped",
            isStill ? "after the change" : "during the change",
            epoch / 2 % 2,
            probe.passes()[0],
            probe.passes()[1]);
  }

  /** Ends the thread. */
  @Override
  public void close() {
    isClosing = true;
    try {
      ended.await();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
