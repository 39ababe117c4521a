package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.FlowUsageFlyweight;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The map {@code flow_usage}, accessed through mapped memory without system calls: the conntrack
 * entries of each endpoint, and those of the node at index 0. The thread of the sweeps writes, and
 * another one what it has written where the kernel has something else; every thread reads.
 */
public final class FlowUsageArray implements AutoCloseable {
  /** Index of the counters of the node. */
  public static final int NODE = 0;

  private final MappedMemory memory;
  private final UnsafeBuffer buffer;
  private final int length;
  private final PagedLongs credits;
  private long emptied;

  /**
   * Maps the array into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public FlowUsageArray(BpfMap map) {
    length = map.maxEntries();
    memory = MappedMemory.map(map.fd(), 0, length * FlowUsageFlyweight.LENGTH, true);
    buffer = new UnsafeBuffer(memory.address(), length * FlowUsageFlyweight.LENGTH);
    credits = new PagedLongs(length * FlowUsageFlyweight.OPENED_COUNT);
    for (int i = 0; i < credits.length(); i++) {
      credits.set(i, buffer.getInt(creditAt(i)));
    }
    emptied = buffer.getLong(FlowUsageFlyweight.EMPTIED_OFFSET);
  }

  /** Returns the number of endpoint ids. */
  public int length() {
    return length;
  }

  /** Returns the number of flows that were opened in a table, which wraps. */
  public int opened(int endpointId, int table) {
    return buffer.getIntVolatile(at(endpointId, FlowUsageFlyweight.OPENED_OFFSET, table));
  }

  /** Returns the number of entries in a table. */
  public int entries(int endpointId, int table) {
    return opened(endpointId, table)
        - buffer.getInt(at(endpointId, FlowUsageFlyweight.CREDIT_OFFSET, table));
  }

  /** Sets what {@link #opened} is less by than the number of entries. */
  public synchronized void credit(int endpointId, int table, int value) {
    final int index = endpointId * FlowUsageFlyweight.OPENED_COUNT + table;
    credits.set(index, value);
    buffer.putIntVolatile(creditAt(index), value);
  }

  /**
   * Writes again what {@link #credit} and {@link #emptied} have set where the map has another
   * value.
   *
   * @param from the first endpoint id
   * @param to the endpoint id after the last one
   * @return the number of values
   */
  public synchronized int repair(int from, int to) {
    int repaired = 0;
    for (int i = from * FlowUsageFlyweight.OPENED_COUNT;
        i < to * FlowUsageFlyweight.OPENED_COUNT;
        i++) {
      final int credit = (int) credits.get(i);
      if (buffer.getInt(creditAt(i)) != credit) {
        buffer.putIntVolatile(creditAt(i), credit);
        repaired++;
      }
    }
    if (from == NODE && buffer.getLong(FlowUsageFlyweight.EMPTIED_OFFSET) != emptied) {
      buffer.putLongVolatile(FlowUsageFlyweight.EMPTIED_OFFSET, emptied);
      repaired++;
    }
    return repaired;
  }

  private static int creditAt(int index) {
    return at(
        index / FlowUsageFlyweight.OPENED_COUNT,
        FlowUsageFlyweight.CREDIT_OFFSET,
        index % FlowUsageFlyweight.OPENED_COUNT);
  }

  /** Returns the entries that the program of the sweep has counted. */
  public int counted(int endpointId, int table) {
    return buffer.getIntVolatile(at(endpointId, FlowUsageFlyweight.COUNTED_OFFSET, table));
  }

  /** Sets the count of the sweep to 0, before it starts. */
  public void clearCounted(int endpointId, int table) {
    buffer.putIntVolatile(at(endpointId, FlowUsageFlyweight.COUNTED_OFFSET, table), 0);
  }

  /** Returns the flows that were put into a table of the overflow. */
  public long overflowed(int endpointId) {
    return buffer.getLongVolatile(
        endpointId * FlowUsageFlyweight.LENGTH + FlowUsageFlyweight.OVERFLOWED_OFFSET);
  }

  /**
   * Signals to the programs that the overflow has no entry beside those of flows after this one.
   */
  public synchronized void emptied(long overflowed) {
    emptied = overflowed;
    buffer.putLongVolatile(FlowUsageFlyweight.EMPTIED_OFFSET, overflowed);
  }

  /** Returns whether the programs look for flows in the overflow. */
  public boolean isOverflowUsed() {
    return overflowed(NODE) != buffer.getLongVolatile(FlowUsageFlyweight.EMPTIED_OFFSET);
  }

  private static int at(int endpointId, int field, int table) {
    return endpointId * FlowUsageFlyweight.LENGTH + field + table * Integer.BYTES;
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
