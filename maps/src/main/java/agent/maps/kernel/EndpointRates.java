package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.EndpointRatesFlyweight;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Sums over the map {@code endpoint_rates}, which is read through mapped memory. For every thread
 * until it is closed.
 */
public final class EndpointRates implements AutoCloseable {
  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the array into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public EndpointRates(BpfMap map) {
    final int length = map.maxEntries() * EndpointRatesFlyweight.LENGTH;
    memory = MappedMemory.map(map.fd(), 0, length, false);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  /** Returns the events that were not emitted, since an endpoint had caused too many. */
  public synchronized long eventsSuppressed() {
    return sum(EndpointRatesFlyweight.EVENTS_OFFSET);
  }

  /** Returns the first fragments that were stored in the overflow. */
  public synchronized long fragmentsOverflowed() {
    return sum(EndpointRatesFlyweight.FRAGMENTS_OFFSET);
  }

  private long sum(int rate) {
    long sum = 0;
    for (int offset = 0; offset < buffer.capacity(); offset += EndpointRatesFlyweight.LENGTH) {
      sum += buffer.getLong(offset + rate + EndpointRatesFlyweight.EXCEEDED_OFFSET);
    }
    return sum;
  }

  /** Unmaps the memory; the kernel map remains, and the sums are 0. */
  @Override
  public synchronized void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
