package agent.maps.kernel;

import agent.benchmarks.AllocatesNothing;
import agent.bindings.bpf.LibBpf;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
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

/**
 * Measures the typed access to maps with the shipped definitions: the trie of the ipcache with
 * 10,000 prefixes and a policy map with 10,000 entries.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class TypedMapsBenchmark {
  private static final int ENTRIES = 10_000;
  private static final int FIRST_ADDRESS = 10 << 24;
  private static final int IDENTITY = 1000;
  private static final int TCP = 6;
  private static final int INGRESS = PolicyDirection.INGRESS.number();

  private final Ipcache4KeyFlyweight key = new Ipcache4KeyFlyweight();
  private final IpcacheEntryFlyweight value = new IpcacheEntryFlyweight();
  private Ipcache4Map ipcache;
  private PolicyMap policy;
  private BatchWriter batch;
  private MapCursor cursor;
  private int next;

  /** Creates and fills the maps. */
  @Setup
  public void open() {
    LibBpf.ensureLoaded();
    final MapDefinitions shipped = MapDefinitions.of("endpoint");
    ipcache = new Ipcache4Map(BpfMap.create(shipped.get(MapCatalog.IPCACHE4), ""));
    policy = new PolicyMap(BpfMap.create(shipped.policy(1), ""));
    batch = new BatchWriter(ipcache.map(), ENTRIES);
    cursor = new MapCursor();
    writeBatch();
    for (int i = 0; i < ENTRIES; i++) {
      check(policy.upsert(IDENTITY + i, INGRESS, TCP, 80, PolicyPrefix.PORT, 0, 0));
    }
  }

  private static int check(int result) {
    if (result != 0) {
      throw new IllegalStateException("result " + result);
    }
    return result;
  }

  /** Closes the maps. */
  @TearDown
  public void close() {
    cursor.close();
    ipcache.map().close();
    policy.map().close();
  }

  private int next() {
    next = next + 1 == ENTRIES ? 0 : next + 1;
    return next;
  }

  /** Finds the longest prefix of an address, another one each time. */
  @Benchmark
  @AllocatesNothing
  public int ipcacheLookup() {
    return check(ipcache.lookup(FIRST_ADDRESS + next(), Integer.SIZE));
  }

  /** Writes a prefix that is there, another one each time. */
  @Benchmark
  @AllocatesNothing
  public int ipcacheUpdate() {
    final int i = next();
    return check(ipcache.upsert(FIRST_ADDRESS + i, Integer.SIZE, IDENTITY + i, 0, 0));
  }

  /** Finds the entry of an identity and port, of another identity each time. */
  @Benchmark
  @AllocatesNothing
  public int policyLookup() {
    return check(policy.lookup(IDENTITY + next(), INGRESS, TCP, 80, PolicyPrefix.PORT));
  }

  /** Writes all prefixes of the ipcache in one batch. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  @AllocatesNothing
  public int writeBatch() {
    boolean isFull = false;
    for (int i = 0; !isFull; i++) {
      key.wrap(batch.keys(), batch.keyOffset());
      key.prefixLength(Integer.SIZE).address(FIRST_ADDRESS + i);
      value.wrap(batch.values(), batch.valueOffset()).identity(IDENTITY + i).endpointId(0).flags(0);
      isFull = batch.add();
    }
    return check(batch.writeAll());
  }

  /** Reads all prefixes of the ipcache. */
  @Benchmark
  @OperationsPerInvocation(ENTRIES)
  @AllocatesNothing
  public long dump() {
    long sum = check(cursor.open(ipcache.map()));
    while (cursor.next()) {
      sum += value.wrap(cursor.value(), 0).identity();
    }
    check(cursor.error());
    cursor.close();
    return sum;
  }
}
