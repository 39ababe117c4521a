package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.PortUsageFlyweight;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The map {@code port_usage}, read through mapped memory: what each endpoint lacked of the ports of
 * masqueraded flows, and that of the node at index 0. The programs write; every thread reads.
 */
public final class PortUsageArray implements AutoCloseable {
  /** Index of the counters of the node. */
  public static final int NODE = 0;

  private final MappedMemory memory;
  private final UnsafeBuffer buffer;
  private final int length;

  /**
   * Maps the array into memory: a megabyte that counts as memory of this process.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public PortUsageArray(BpfMap map) {
    this(map, map.maxEntries());
  }

  /** Maps the counters of the node alone. */
  public static PortUsageArray ofNode(BpfMap map) {
    return new PortUsageArray(map, NODE + 1);
  }

  private PortUsageArray(BpfMap map, int length) {
    this.length = length;
    memory = MappedMemory.map(map.fd(), 0, length * PortUsageFlyweight.LENGTH, true);
    buffer = new UnsafeBuffer(memory.address(), length * PortUsageFlyweight.LENGTH);
  }

  /** Returns the number of endpoint ids that are mapped. */
  public int length() {
    return length;
  }

  /** Returns the half-open flows of an endpoint whose port a later one of it has got. */
  public long replaced(int endpointId) {
    return buffer.getLongVolatile(
        endpointId * PortUsageFlyweight.LENGTH + PortUsageFlyweight.REPLACED_OFFSET);
  }

  /** Returns the flows of an endpoint for which no port was free. */
  public long refused(int endpointId) {
    return buffer.getLongVolatile(
        endpointId * PortUsageFlyweight.LENGTH + PortUsageFlyweight.REFUSED_OFFSET);
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
