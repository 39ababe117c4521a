package agent.maps.kernel;

import agent.bindings.MappedMemory;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Endpoint id to the generation of its policy, through a mapping: no system call. The conductor
 * writes. Index 0 stands for everything that is not an endpoint of this node.
 */
public final class GenerationArray implements AutoCloseable {
  private static final int STRIDE = 8; // the kernel rounds an array's element up to 8 bytes
  private static final int OWNER_SHIFT = 24;

  private final BpfMap map;
  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the array.
   *
   * @throws agent.bindings.BindingsException where the kernel does not map it
   */
  public GenerationArray(BpfMap map) {
    this.map = map;
    final int length = map.maxEntries() * STRIDE;
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  public BpfMap map() {
    return map;
  }

  public int get(int endpointId) {
    return buffer.getIntVolatile(endpointId * STRIDE);
  }

  /**
   * Makes every verdict that was given for the endpoint stale. What was written to other maps
   * before is seen by a program that sees the new generation.
   *
   * @return the new generation
   */
  public int bump(int endpointId) {
    return buffer.getAndAddInt(endpointId * STRIDE, 1) + 1;
  }

  /**
   * As {@link #bump}, where the id is free for another endpoint: no flow of the one before is
   * judged as its flow. {@code GENERATION_OWNER_SHIFT} in {@code maps/endpoint_map.h}.
   *
   * @return the new generation
   */
  public int disown(int endpointId) {
    return buffer.getAndAddInt(endpointId * STRIDE, 1 << OWNER_SHIFT) + (1 << OWNER_SHIFT);
  }

  /** Unmaps the array; the map stays. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
