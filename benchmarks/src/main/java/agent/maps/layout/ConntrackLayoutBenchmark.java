package agent.maps.layout;

import agent.benchmarks.AllocatesNothing;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures the access to a key and an entry of the conntrack maps in memory. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ConntrackLayoutBenchmark {
  private final UnsafeBuffer keyBuffer = new UnsafeBuffer(new byte[Conntrack4KeyFlyweight.LENGTH]);
  private final UnsafeBuffer entryBuffer =
      new UnsafeBuffer(new byte[ConntrackEntryFlyweight.LENGTH]);
  private final Conntrack4KeyFlyweight key = new Conntrack4KeyFlyweight();
  private final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight();
  private int flow;

  /** Writes a key and an entry. */
  @Setup
  public void write() {
    writeKey();
    writeEntry();
  }

  /** Reads each field of a key. */
  @Benchmark
  @AllocatesNothing
  public int readKey() {
    key.wrap(keyBuffer, 0);
    return key.lowAddress()
        + key.highAddress()
        + key.lowPort()
        + key.highPort()
        + key.protocol()
        + key.scope();
  }

  /** Writes a whole key. */
  @Benchmark
  @AllocatesNothing
  public Conntrack4KeyFlyweight writeKey() {
    flow++;
    key.wrap(keyBuffer, 0).clear();
    return key.lowAddress(flow).highAddress(~flow).lowPort(80).highPort(flow & 0xffff).protocol(6);
  }

  /** Reads what a listing of flows and the sweeps of flows read of an entry. */
  @Benchmark
  @AllocatesNothing
  public long readEntry() {
    entry.wrap(entryBuffer, 0);
    return entry.expiresNs()
        + entry.generation()
        + ConntrackEntries.endpointId(entry, 0)
        + ConntrackEntries.endpointId(entry, 1)
        + entry.flags()
        + entry.identity(0)
        + entry.identity(1)
        + ConntrackEntries.packets(entry, 0)
        + ConntrackEntries.packets(entry, 1)
        + ConntrackEntries.bytes(entry, 0)
        + ConntrackEntries.bytes(entry, 1);
  }

  /** Writes a whole entry. */
  @Benchmark
  @AllocatesNothing
  public ConntrackEntryFlyweight writeEntry() {
    flow++;
    entry.wrap(entryBuffer, 0).clear().expiresNs(flow).generation(flow).flags(0);
    entry.party(0, 1).party(1, 2).identity(0, 1000).identity(1, 1001);
    entry.deliveryKind(0, ConntrackDelivery.TO_PEER.number()).deliveryIndex(0, 1);
    entry.deliveryKind(1, ConntrackDelivery.TO_PEER.number()).deliveryIndex(1, 2);
    return entry.packets(0, flow).packets(1, flow).bytes(0, flow).bytes(1, flow);
  }
}
