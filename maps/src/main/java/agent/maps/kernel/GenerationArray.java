package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.GenerationLayout;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Policy generations, indexed by endpoint id and accessed through mapped memory without system
 * calls. The conductor's thread writes. Index 0 stands for all peers that are not endpoints of this
 * node.
 */
public final class GenerationArray implements AutoCloseable {
  private static final int STRIDE = 8; // the kernel rounds array elements up to 8 bytes
  private static final int OWNER = 1 << GenerationLayout.OWNER_SHIFT;

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

  public int get(int endpointId) {
    return buffer.getIntVolatile(endpointId * STRIDE);
  }

  /**
   * Invalidates every cached verdict of the endpoint. A program that reads the new generation also
   * sees all earlier writes to other maps.
   *
   * @return the new generation
   */
  public int bump(int endpointId) {
    return buffer.getAndAddInt(endpointId * STRIDE, 1) + 1;
  }

  /**
   * Changes the owner field when the id becomes free, so that programs do not apply cached verdicts
   * of the previous endpoint's flows to the next endpoint.
   *
   * @return the new generation
   */
  public int disown(int endpointId) {
    return buffer.getAndAddInt(endpointId * STRIDE, OWNER) + OWNER;
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
