package agent.policy.resolve;

import agent.benchmarks.AllocatesNothing;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures the policy of an endpoint that rules select: resolving, difference and lookup. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PolicyResolutionBenchmark {
  private static final int TCP = 6;

  /** Rules that select the endpoint, each with one peer and one port. */
  @Param({"1", "100", "10000"})
  public int rules;

  private final BenchmarkPolicy policy = new BenchmarkPolicy();
  private List<PolicyEntry> entries;
  private List<PolicyEntry> same;
  private int next;

  /** Adds the rules. */
  @Setup
  public void add() {
    policy.addPeers(rules);
    entries = policy.resolveServer().entries();
    same = policy.resolveServer().entries();
    if (entries.size() < rules || !entries.equals(same)) {
      throw new IllegalStateException(entries.size() + " entries of " + rules + " rules");
    }
  }

  /** Resolves all rules to the entries of a policy map. */
  @Benchmark
  public Object resolve() {
    return policy.resolveServer();
  }

  /** Compares the entries with those of another resolution, which are equal. */
  @Benchmark
  public PolicyDelta differenceUnchanged() {
    return PolicyDelta.between(entries, same);
  }

  /** Looks up the verdict on a packet of a peer, another one each time, as the programs do. */
  @Benchmark
  @AllocatesNothing
  public PolicyVerdict lookup() {
    next = next + 1 == entries.size() ? 0 : next + 1;
    return MapLookup.verdict(
        entries,
        PolicyDirection.INGRESS,
        entries.get(next).identity(),
        TCP,
        8000,
        PolicyPrefix.PORT);
  }
}
