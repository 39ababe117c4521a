package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the interfaces map: the endpoint of an interface. {@code struct interface_cell} in
 * {@code maps/interface_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ifindex                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          endpoint_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class InterfaceCellFlyweight {
  public static final int IFINDEX_OFFSET = 0;
  public static final int ENDPOINT_ID_OFFSET = IFINDEX_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = ENDPOINT_ID_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("interface_cell", LENGTH)
          .scalar("ifindex", IFINDEX_OFFSET, U32)
          .scalar("endpoint_id", ENDPOINT_ID_OFFSET, U32)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public InterfaceCellFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code ifindex}; 0 means that the cell is empty. */
  public int ifindex() {
    return buffer.getInt(offset + IFINDEX_OFFSET);
  }

  /** Sets {@code ifindex}; 0 means that the cell is empty. */
  public InterfaceCellFlyweight ifindex(int value) {
    buffer.putInt(offset + IFINDEX_OFFSET, value);
    return this;
  }

  /** Returns {@code endpoint_id}. */
  public int endpointId() {
    return buffer.getInt(offset + ENDPOINT_ID_OFFSET);
  }

  /** Sets {@code endpoint_id}. */
  public InterfaceCellFlyweight endpointId(int value) {
    buffer.putInt(offset + ENDPOINT_ID_OFFSET, value);
    return this;
  }
}
