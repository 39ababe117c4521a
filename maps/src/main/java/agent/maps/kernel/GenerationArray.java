package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.GenerationLayout;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Policy generations, indexed by endpoint id or by {@link GenerationLayout#OUTSIDE} plus the shard
 * of an address, and accessed through mapped memory without system calls. The conductor's thread
 * writes.
 */
public final class GenerationArray implements AutoCloseable {
  private static final int STRIDE = 8;
  private static final long OWNER = 1L << GenerationLayout.OWNER_SHIFT;

  /** The highest bit of the count stays clear, so that a sum of two generations does not carry. */
  private static final long COUNT_LIMIT = OWNER >> 1;

  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the array into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public GenerationArray(BpfMap map) {
    final int length = map.maxEntries() * STRIDE;
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  public long get(int index) {
    return buffer.getLongVolatile(index * STRIDE);
  }

  /**
   * Invalidates every cached verdict of the endpoint or shard. A program that reads the new
   * generation also sees all earlier writes to other maps. After 2^31 changes the owner field
   * changes, too, which ends flows where it would have renewed them.
   *
   * @return the new generation
   */
  public long bump(int index) {
    final long next = get(index) + 1;
    return put(index, (next & COUNT_LIMIT) == 0 ? next : (next | OWNER - 1) + 1);
  }

  /**
   * Changes the owner field when the id becomes free, so that programs do not apply cached verdicts
   * of the previous endpoint's flows to the next endpoint.
   *
   * @return the new generation
   */
  public long disown(int endpointId) {
    return put(endpointId, get(endpointId) + OWNER);
  }

  /**
   * Returns whether a value is one to which {@link #bump} can have raised another one: it has the
   * same owner and a higher count.
   */
  public static boolean isRaised(long value, long from) {
    return value >>> GenerationLayout.OWNER_SHIFT == from >>> GenerationLayout.OWNER_SHIFT
        && (value & COUNT_LIMIT) == 0
        && Long.compareUnsigned(value, from) > 0;
  }

  /**
   * Sets a generation.
   *
   * @return the value
   */
  public long put(int index, long value) {
    buffer.putLongVolatile(index * STRIDE, value);
    return value;
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
