package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.EndpointRatesFlyweight;
import agent.maps.layout.ShareRateFlyweight;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Sums over the map {@code endpoint_rates}. They are asked for rarely, so that the map is mapped
 * into memory while it is read and not between. For every thread until it is closed.
 */
public final class EndpointRates implements AutoCloseable {
  private final BpfMap map;
  private final int length;
  private boolean isClosed;

  public EndpointRates(BpfMap map) {
    this.map = map;
    length = map.maxEntries() * EndpointRatesFlyweight.LENGTH;
  }

  /**
   * Returns the events that were not emitted, since an endpoint had caused too many.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public long eventsSuppressed() {
    return sum(EndpointRatesFlyweight.EVENTS_OFFSET);
  }

  /**
   * Returns the first fragments that were stored in the overflow.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public long fragmentsOverflowed() {
    return sum(EndpointRatesFlyweight.FRAGMENTS_OFFSET);
  }

  private synchronized long sum(int rate) {
    long sum = 0;
    if (!isClosed) {
      try (MappedMemory memory = MappedMemory.map(map.fd(), 0, length, false)) {
        final UnsafeBuffer buffer = new UnsafeBuffer(memory.address(), length);
        for (int offset = 0; offset < length; offset += EndpointRatesFlyweight.LENGTH) {
          sum += buffer.getLong(offset + rate + ShareRateFlyweight.EXCEEDED_OFFSET);
        }
      }
    }
    return sum;
  }

  /** Ends the reading of the kernel map, which remains; the sums are 0. */
  @Override
  public synchronized void close() {
    isClosed = true;
  }
}
