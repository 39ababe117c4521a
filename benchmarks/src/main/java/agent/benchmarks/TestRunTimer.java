package agent.benchmarks;

import agent.bindings.BpfProgram;
import agent.bindings.Errno;
import agent.bindings.ProgramTestRun;
import java.util.Arrays;

/** Measures a program and the trivial program in turn on the same packet, in the kernel. */
final class TestRunTimer implements AutoCloseable {
  private static final int RUNS = 9;
  private static final int REPEATS = 400_000;
  private static final int CAPACITY = 2048;

  private final ProgramTestRun run = new ProgramTestRun(CAPACITY);

  /**
   * Medians of the runs.
   *
   * @param absoluteNs time of the program
   * @param trivialNs time of the trivial program
   */
  record Figures(double absoluteNs, double trivialNs) {
    double netNs() {
      return absoluteNs - trivialNs;
    }
  }

  /** Chooses the program to run for a measured program. */
  interface Selection {
    /** Returns the program to run, whose tail call ends in the given program. */
    BpfProgram select(BpfProgram program);
  }

  /** Runs a program once and returns its return value. */
  int once(BpfProgram program, byte[] packet) {
    return repeat(program, packet, 1);
  }

  /** Measures; every run must return the expected value. */
  Figures measure(
      BpfProgram program,
      BpfProgram trivialProgram,
      Selection selection,
      byte[] packet,
      int expected) {
    final long[] real = new long[RUNS];
    final long[] trivial = new long[RUNS];
    repeat(selection.select(program), packet, REPEATS / 10);
    for (int i = 0; i < RUNS; i++) {
      repeat(selection.select(trivialProgram), packet, REPEATS);
      trivial[i] = run.durationNs();
      final int returned = repeat(selection.select(program), packet, REPEATS);
      if (returned != expected) {
        throw new IllegalStateException("the program returned " + returned + ", not " + expected);
      }
      real[i] = run.durationNs();
    }
    return new Figures(median(real), median(trivial));
  }

  private int repeat(BpfProgram program, byte[] packet, int times) {
    run.input(packet);
    final int result = run.run(program, packet.length, 0, times);
    if (result < 0) {
      throw new IllegalStateException("test run: " + Errno.name(result));
    }
    return run.returnValue();
  }

  private static double median(long[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  @Override
  public void close() {
    run.close();
  }
}
