package agent.benchmarks;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.ProgramTestRun;
import java.util.Arrays;
import java.util.List;

/**
 * Measures a program, its twin and the trivial program in turn on the same packet, in the kernel.
 */
final class TestRunTimer implements AutoCloseable {
  /** How often each measurement is repeated. */
  static final int RUNS = Integer.getInteger("benchmarks.runs", 9);

  /** How many packets a run has; the tests of the reports have fewer. */
  static final int REPEATS = Integer.getInteger("benchmarks.repeats", 400_000);

  private static final int WARM_UP = 70_000;
  private static final int CAPACITY = 2048;

  private final ProgramTestRun run = new ProgramTestRun(CAPACITY);

  private int ifindex;
  private int receivingIfindex;

  /**
   * Medians of the runs.
   *
   * @param absoluteNs time of the program
   * @param twinNs time of its twin
   * @param trivialNs time of the trivial program
   */
  record Figures(double absoluteNs, double twinNs, double trivialNs) {
    double netNs() {
      return absoluteNs - trivialNs;
    }

    double twinNetNs() {
      return twinNs - trivialNs;
    }
  }

  /**
   * The programs of one measurement.
   *
   * @param measured the agent's
   * @param twin the least that a program can do for the packet
   * @param trivial returns at once
   */
  record Subjects(BpfProgram measured, BpfProgram twin, BpfProgram trivial) {}

  /** Chooses the program to run for a measured program. */
  interface Selection {
    /** Returns the program to run, whose tail call ends in the given program. */
    BpfProgram select(BpfProgram program);
  }

  /** Sets the interface of the packets of tc programs; 0 for no interface, and for XDP. */
  TestRunTimer on(int interfaceIndex) {
    ifindex = interfaceIndex;
    return this;
  }

  /** Sets the interface that receives the packets of XDP programs, in place of the loopback one. */
  TestRunTimer fromDevice(int interfaceIndex) {
    receivingIfindex = interfaceIndex;
    return this;
  }

  /** Runs a program once and returns its return value. */
  int once(BpfProgram program, byte[] packet) {
    return repeat(program, packet, 1);
  }

  /** Runs a program on as many same packets. */
  void times(BpfProgram program, byte[] packet, int packets) {
    repeat(program, packet, packets);
  }

  /** Measures; the last packet of every run must have one of the expected verdicts. */
  Figures measure(Subjects subjects, Selection selection, byte[] packet, Integer... expected) {
    final long[] real = new long[RUNS];
    final long[] twin = new long[RUNS];
    final long[] trivial = new long[RUNS];
    repeat(selection.select(subjects.twin), packet, WARM_UP);
    repeat(selection.select(subjects.measured), packet, WARM_UP);
    for (int i = 0; i < RUNS; i++) {
      repeat(selection.select(subjects.trivial), packet, REPEATS);
      trivial[i] = run.durationNs();
      repeat(selection.select(subjects.twin), packet, REPEATS);
      twin[i] = run.durationNs();
      final int returned = repeat(selection.select(subjects.measured), packet, REPEATS);
      if (!List.of(expected).contains(returned)) {
        throw new IllegalStateException("the program returned " + returned);
      }
      real[i] = run.durationNs();
    }
    return new Figures(median(real), median(twin), median(trivial));
  }

  /** Runs a program on as many packets; the times are not read. */
  void run(BpfProgram program, Selection selection, byte[] packet, int packets) {
    for (int i = 0; i < packets; i += REPEATS) {
      repeat(selection.select(program), packet, REPEATS);
    }
  }

  private int repeat(BpfProgram program, byte[] packet, int times) {
    run.input(packet);
    final int result =
        receivingIfindex == 0
            ? run.run(program, packet.length, ifindex, times)
            : run.runXdp(program, packet.length, receivingIfindex, times);
    if (result < 0) {
      throw new IllegalStateException("test run: " + Errno.name(result));
    }
    return run.returnValue();
  }

  /** Returns the median, and sorts the values. */
  static double median(long[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  @Override
  public void close() {
    run.close();
  }
}
