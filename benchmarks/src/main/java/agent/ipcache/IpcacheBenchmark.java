package agent.ipcache;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures the table of 10,000 prefixes outside, with a kernel that has them all. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class IpcacheBenchmark {
  private static final int PREFIXES = 10_000;
  private static final int FIRST_ADDRESS = 10 << 24;
  private static final int FIRST_IDENTITY = 1 << 24;

  private final Map<Prefix, Integer> outside = new HashMap<>();
  private final List<Map<Prefix, Integer>> single = new ArrayList<>();
  private final HeldEntries kernel = new HeldEntries();
  private final Ipcache ipcache = new Ipcache(kernel, Runnable::run);
  private final IpAddress node = IpAddress.parse("192.0.2.1");
  private int filled;
  private int next;

  /** Writes all prefixes. */
  @Setup
  public void fill() {
    for (int i = 0; i < PREFIXES; i++) {
      final Prefix prefix = Prefix.of(IpAddress.ofIpv4(FIRST_ADDRESS + i));
      outside.put(prefix, FIRST_IDENTITY + i);
      single.add(Map.of(prefix, FIRST_IDENTITY + i));
    }
    ipcache.stage(outside, Set.of(Prefix.of(node)));
    ipcache.compare().join();
    filled = kernel.written;
    if (filled < PREFIXES) {
      throw new IllegalStateException(filled + " entries were written");
    }
  }

  private int next() {
    next = next + 1 == PREFIXES ? 0 : next + 1;
    return next;
  }

  /** Looks up whether an address is one of this node. */
  @Benchmark
  public boolean isNode() {
    return ipcache.isNode(node);
  }

  /** Puts a prefix as it is, another one each time: nothing is written. */
  @Benchmark
  public boolean putUnchanged() {
    return unwritten(ipcache.putOutside(single.get(next())));
  }

  /** Puts all prefixes as they are: nothing is written, and the time is that of one. */
  @Benchmark
  @OperationsPerInvocation(PREFIXES)
  public boolean putAllUnchanged() {
    return unwritten(ipcache.putOutside(outside));
  }

  private boolean unwritten(CompletableFuture<Void> put) {
    put.join();
    if (kernel.written != filled) {
      throw new IllegalStateException("an unchanged entry was written");
    }
    return true;
  }

  /** A kernel that is empty at first and counts the entries. */
  private static final class HeldEntries implements IpcacheProxy {
    private int written;

    @Override
    public CompletableFuture<List<IpcacheEntry>> read() {
      return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
      written += changes.size();
      return CompletableFuture.completedFuture(null);
    }
  }
}
