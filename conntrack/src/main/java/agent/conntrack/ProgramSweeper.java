package agent.conntrack;

import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.ProgramTestRun;
import agent.conntrack.ConntrackGc.ConntrackSweeper;
import agent.maps.layout.ConntrackSweepFlyweight;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Runs the BPF program {@code conntrack_sweep}, which deletes expired entries inside the kernel: no
 * entry is copied to user space, and nothing is allocated. For one thread.
 */
public final class ProgramSweeper implements ConntrackSweeper, AutoCloseable {
  private static final int NO_PACKET = 0;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment context = arena.allocate(ConntrackSweepFlyweight.LENGTH, 8);
  private final UnsafeBuffer buffer =
      new UnsafeBuffer(context.address(), ConntrackSweepFlyweight.LENGTH);
  private final ProgramTestRun run = new ProgramTestRun(NO_PACKET);
  private final BpfProgram program;

  /**
   * Creates a sweeper of the tables of a program.
   *
   * @param program {@code conntrack_sweep}; stays open while this object is used
   */
  public ProgramSweeper(BpfProgram program) {
    this.program = program;
  }

  /** Deletes the entries whose expiry has passed on the clock of the program. */
  @Override
  public int sweep(int table, boolean watches, ConntrackSweepFlyweight result) {
    return sweep(table, watches, 0, result);
  }

  /**
   * As {@link #sweep(int, boolean, ConntrackSweepFlyweight)}, at a given time.
   *
   * @param nowNs time on CLOCK_MONOTONIC; 0: the program reads the clock
   * @return 0 or -errno
   */
  int sweep(int table, boolean watches, long nowNs, ConntrackSweepFlyweight result) {
    result.wrap(buffer, 0).clear().table(table).watches(watches ? 1 : 0).nowNs(nowNs);
    final int ran = run.runSyscall(program, context);
    return ran < 0 ? ran : Math.min(0, run.returnValue());
  }

  /** Frees the buffers; the program stays open. */
  @Override
  public void close() {
    run.close();
    arena.close();
  }
}
