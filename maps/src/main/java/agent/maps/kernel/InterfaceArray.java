package agent.maps.kernel;

import agent.bindings.MappedMemory;
import agent.maps.layout.InterfaceCellFlyweight;
import agent.maps.layout.MapSize;
import java.nio.ByteOrder;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The cells of the map {@code interfaces}, accessed through mapped memory without system calls: one
 * store opens or closes an interface. The conductor's thread writes.
 */
public final class InterfaceArray implements AutoCloseable {
  private static final int STRIDE = InterfaceCellFlyweight.LENGTH;

  private final MappedMemory memory;
  private final UnsafeBuffer buffer;

  /**
   * Maps the array into memory.
   *
   * @throws agent.bindings.BindingsException if the kernel refuses the mapping
   */
  public InterfaceArray(BpfMap map) {
    final int length = map.maxEntries() * STRIDE;
    memory = MappedMemory.map(map.fd(), 0, length, true);
    buffer = new UnsafeBuffer(memory.address(), length);
  }

  /** Returns the index of the cell of an interface. */
  public static int index(int ifindex) {
    return ifindex & MapSize.INTERFACE_CELLS - 1;
  }

  /** Returns the content of a cell for an interface and its endpoint. */
  public static long cell(int ifindex, int endpointId) {
    return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
        ? Integer.toUnsignedLong(ifindex) | (long) endpointId << Integer.SIZE
        : (long) ifindex << Integer.SIZE | Integer.toUnsignedLong(endpointId);
  }

  /** Returns the interface in the content of a cell, or 0. */
  public static int ifindex(long cell) {
    return (int)
        (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? cell : cell >>> Integer.SIZE);
  }

  /** Returns the endpoint in the content of a cell. */
  public static int endpointId(long cell) {
    return (int)
        (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? cell >>> Integer.SIZE : cell);
  }

  /** Returns the content of a cell; 0 where it is empty. */
  public long get(int index) {
    return buffer.getLongVolatile(index * STRIDE);
  }

  /** Sets the content of a cell; a program that reads it also sees all earlier writes to maps. */
  public void set(int index, long cell) {
    buffer.putLongVolatile(index * STRIDE, cell);
  }

  /** Unmaps the memory; the kernel map remains. */
  @Override
  public void close() {
    buffer.wrap(0, 0);
    memory.close();
  }
}
