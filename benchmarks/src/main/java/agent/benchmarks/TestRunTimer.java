package agent.benchmarks;

import agent.bindings.Errno;
import agent.bindings.ProgramTestRun;
import java.util.Arrays;

/** Times a program and the trivial one on the same packet, turn by turn, in the kernel. */
final class TestRunTimer implements AutoCloseable {
  private static final int RUNS = 9;
  private static final int REPEATS = 400_000;
  private static final int CAPACITY = 2048;

  private final ProgramTestRun run = new ProgramTestRun(CAPACITY);

  /**
   * Medians of the runs.
   *
   * @param absoluteNs of the program
   * @param trivialNs of the trivial one
   */
  record Figures(double absoluteNs, double trivialNs) {
    double netNs() {
      return absoluteNs - trivialNs;
    }
  }

  /** What is run, and before it what makes it run: both by the program's descriptor. */
  interface Selection {
    /** Returns the descriptor to run, prepared so that it ends in the program given. */
    int select(int programFd);
  }

  /** Runs a program once, and returns what it returned. */
  int once(int programFd, byte[] packet) {
    return repeat(programFd, packet, 1);
  }

  /** Measures; the program has to return what is expected, each time. */
  Figures measure(int programFd, int trivialFd, Selection selection, byte[] packet, int expected) {
    final long[] real = new long[RUNS];
    final long[] trivial = new long[RUNS];
    repeat(selection.select(programFd), packet, REPEATS / 10);
    for (int i = 0; i < RUNS; i++) {
      repeat(selection.select(trivialFd), packet, REPEATS);
      trivial[i] = run.durationNs();
      final int returned = repeat(selection.select(programFd), packet, REPEATS);
      if (returned != expected) {
        throw new IllegalStateException("the program returned " + returned + ", not " + expected);
      }
      real[i] = run.durationNs();
    }
    return new Figures(median(real), median(trivial));
  }

  private int repeat(int programFd, byte[] packet, int times) {
    run.input(packet);
    final int result = run.run(programFd, packet.length, 0, times);
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
