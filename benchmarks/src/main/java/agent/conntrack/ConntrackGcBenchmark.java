package agent.conntrack;

import agent.benchmarks.AllocatesNothing;
import agent.maps.layout.ConntrackTable;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Measures duty cycles of {@code dp-conntrack-gc}: between rounds, and one that sweeps a table. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ConntrackGcBenchmark {
  private static final int FLOWS = 10_000;
  private static final long INTERVAL_NS = TimeUnit.HOURS.toNanos(12);
  private static final long NEXT_ROUND_NS = 2 * INTERVAL_NS;

  private FilledConntrack conntrack;
  private ConntrackGc gc;
  private long nowNs;

  /** Fills the table with flows that do not expire. */
  @Setup
  public void open() throws IOException {
    conntrack = new FilledConntrack(FLOWS);
    conntrack.fill(false);
    gc =
        new ConntrackGc(
            conntrack.sweeper(),
            ConntrackGc.Usage.NONE,
            ConntrackGc.Watch.NONE,
            List.of(ConntrackTable.TCP4),
            () -> nowNs,
            INTERVAL_NS);
  }

  /** Removes table and program. */
  @TearDown
  public void close() {
    conntrack.close();
  }

  /** Finds that no round is due. */
  @Benchmark
  @AllocatesNothing
  public int idle() {
    return gc.doWork();
  }

  /** Sweeps a table of which no flow has expired: the time is that of one flow. */
  @Benchmark
  @OperationsPerInvocation(FLOWS)
  @AllocatesNothing
  public int sweep() {
    nowNs += NEXT_ROUND_NS;
    final int done = gc.doWork();
    if (done != 1 || gc.counters().lastErrno(ConntrackTable.TCP4) != 0) {
      throw new IllegalStateException("no table was swept");
    }
    return done;
  }
}
