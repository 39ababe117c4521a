package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code service_cells}. {@code struct service_cells} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            backends                           |
 * |                    (64 numbers of 2 bytes)                    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceCellsFlyweight {
  public static final int BACKENDS_OFFSET = 0;
  public static final int LENGTH = BACKENDS_OFFSET + MapSize.SERVICE_CELLS * SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("service_cells", LENGTH)
          .scalars("backends", BACKENDS_OFFSET, U16, MapSize.SERVICE_CELLS)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceCellsFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns the element of {@code backends} of a cell. */
  public int backends(int cell) {
    return buffer.getShort(offset + BACKENDS_OFFSET + cell * SIZE_OF_SHORT) & 0xffff;
  }

  /** Sets the element of {@code backends} of a cell. */
  public ServiceCellsFlyweight backends(int cell, int value) {
    buffer.putShort(offset + BACKENDS_OFFSET + cell * SIZE_OF_SHORT, (short) value);
    return this;
  }
}
