package agent.datapath.spec;

import agent.benchmarks.AllocatesNothing;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures what {@code dp-events} does with one event: the decoding and the ring of flows. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class FlowEventBenchmark {
  private static final int FLOWS = 4096;

  private final UnsafeBuffer record = new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]);
  private final UnsafeBuffer copy = new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]);
  private final FlowEventFlyweight event = new FlowEventFlyweight();
  private final FlowRing ring = new FlowRing(FLOWS, FlowRing.TYPES, System::nanoTime);

  /** Writes an event of an IPv4 packet. */
  @Setup
  public void write() {
    event.wrap(record, 0).clear().timestampNs(1).type(EventType.TRACE.number()).family(4);
    event.protocol(6).endpointId(7).sourceIdentity(1000).destinationIdentity(1001).length(1500);
    event.sourcePort(40_000).destinationPort(80).sourceAddress(1, 0).destinationAddress(2, 0);
  }

  /** Reads each field of an event. */
  @Benchmark
  @AllocatesNothing
  public long decode() {
    event.wrap(record, 0);
    return event.timestampNs()
        + event.type()
        + event.reason()
        + event.direction()
        + event.family()
        + event.protocol()
        + event.tcpFlags()
        + event.endpointId()
        + event.sourceIdentity()
        + event.destinationIdentity()
        + event.length()
        + event.ifindex()
        + event.sourcePort()
        + event.destinationPort()
        + event.sourceAddressHigh()
        + event.sourceAddressLow()
        + event.destinationAddressHigh()
        + event.destinationAddressLow();
  }

  /** Appends an event to the ring of flows. */
  @Benchmark
  @AllocatesNothing
  public long append() {
    ring.append(event.wrap(record, 0));
    return ring.position();
  }

  /** Appends an event and copies it out again, as a subscriber to kept flows does. */
  @Benchmark
  @AllocatesNothing
  public boolean appendAndRead() {
    ring.append(event.wrap(record, 0));
    return ring.read(ring.position() - 1, copy, 0);
  }
}
