package agent.identity;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures lookups and references among 10,000 identities of endpoints. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class IdentityBenchmark {
  private static final int IDENTITIES = 10_000;

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final List<LabelSet> labels = new ArrayList<>();
  private int next;

  /** Acquires an identity for each label set. */
  @Setup
  public void acquireAll() {
    for (int i = 0; i < IDENTITIES; i++) {
      labels.add(LabelSet.parse("labels", List.of("k8s:app=a" + i, "k8s:zone=z" + i % 10)));
      identities.acquire(labels.getLast()).join();
    }
  }

  private int next() {
    next = next + 1 == IDENTITIES ? 0 : next + 1;
    return next;
  }

  /** Finds an identity by its number, another one each time. */
  @Benchmark
  public Identity findByNumber() {
    return identities.find(Identity.CLUSTER_MIN + next()).orElseThrow();
  }

  /** Finds an identity by its labels, others each time. */
  @Benchmark
  public Identity findByLabels() {
    return identities.find(labels.get(next())).orElseThrow();
  }

  /** Acquires a further reference to an identity and releases it, another one each time. */
  @Benchmark
  public boolean acquireAndRelease() {
    final Identity identity = identities.acquire(labels.get(next())).join();
    return identities.release(identity.id()).join();
  }
}
