package agent.ipcache;

import agent.bindings.bpf.LibBpf;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.IpcacheMaps;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.RefusedEntries;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
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
import org.openjdk.jmh.annotations.TearDown;

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
  private final DatapathConductor conductor =
      new DatapathConductor(System::nanoTime, new RefusedEntries(), () -> 0);
  private BpfMap ipcache4;
  private BpfMap ipcache6;
  private Ipcache ipcache;
  private final IpAddress node = IpAddress.parse("192.0.2.1");
  private int written;
  private int next;

  /** Writes all prefixes. */
  @Setup
  public void fill() {
    LibBpf.ensureLoaded();
    final MapDefinitions shipped = MapDefinitions.of("endpoint");
    ipcache4 = BpfMap.create(shipped.get(MapCatalog.IPCACHE4), "");
    ipcache6 = BpfMap.create(shipped.get(MapCatalog.IPCACHE6), "");
    ipcache =
        new Ipcache(
            new IpcacheMaps(
                conductor,
                new CountedVerdicts(),
                new BpfTargetMap(ipcache4),
                new BpfTargetMap(ipcache6),
                new KernelFaults(),
                new Repairs()));
    for (int i = 0; i < PREFIXES; i++) {
      final Prefix prefix = Prefix.of(IpAddress.ofIpv4(FIRST_ADDRESS + i));
      outside.put(prefix, FIRST_IDENTITY + i);
      single.add(Map.of(prefix, FIRST_IDENTITY + i));
    }
    ipcache.stage(outside, Set.of(Prefix.of(node)));
    answered(ipcache.compare());
    if (written == 0) {
      throw new IllegalStateException("nothing was written");
    }
    written = 0;
  }

  /** Closes the maps. */
  @TearDown
  public void close() {
    ipcache4.close();
    ipcache6.close();
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
    return unwritten(ipcache.putOutside(Ipcache.inOrder(single.get(next()))));
  }

  /** Puts all prefixes as they are: nothing is written, and the time is that of one. */
  @Benchmark
  @OperationsPerInvocation(PREFIXES)
  public boolean putAllUnchanged() {
    return unwritten(ipcache.putOutside(Ipcache.inOrder(outside)));
  }

  private boolean unwritten(CompletableFuture<Void> put) {
    answered(put);
    if (written != 0) {
      throw new IllegalStateException("an unchanged entry was written");
    }
    return true;
  }

  private void answered(CompletableFuture<Void> put) {
    while (!put.isDone()) {
      conductor.doWork();
    }
    put.join();
  }

  /** Notes that entries are written. */
  private final class CountedVerdicts implements IpcacheMaps.Verdicts {
    @Override
    public void raise(int endpointId) {
      written++;
    }

    @Override
    public void raiseShard(int shard) {
      written++;
    }

    @Override
    public void raiseAll() {
      written++;
    }
  }
}
