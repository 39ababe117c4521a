package agent.datapath.manager.service;

import agent.datapath.spec.ServiceProxy;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures the build of the table of a service. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class MaglevTableBenchmark {
  /** Backends of the service, of like weight. */
  @Param({"10", "100"})
  public int backends;

  private long[] identities;
  private int[] weights;
  private int cells;

  /** Numbers the backends. */
  @Setup
  public void number() {
    identities = new Random(1).longs(backends).toArray();
    weights = new int[backends];
    Arrays.fill(weights, 1);
    cells = MaglevTable.cells(weights, 0, ServiceProxy.TABLE_SIZES.getLast());
  }

  /** Fills a table of the size that the weights ask for. */
  @Benchmark
  public MaglevTable build() {
    return new MaglevTable(identities, weights, cells);
  }
}
