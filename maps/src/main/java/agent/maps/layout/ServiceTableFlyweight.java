package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code service_tables}. {@code struct service_table} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             cells             |            version            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceTableFlyweight {
  public static final int CELLS_OFFSET = 0;
  public static final int VERSION_OFFSET = CELLS_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = VERSION_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("service_table", LENGTH)
          .scalar("cells", CELLS_OFFSET, U16)
          .scalar("version", VERSION_OFFSET, U16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceTableFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code cells}. */
  public int cells() {
    return buffer.getShort(offset + CELLS_OFFSET) & 0xffff;
  }

  /** Sets {@code cells}. */
  public ServiceTableFlyweight cells(int value) {
    buffer.putShort(offset + CELLS_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code version}. */
  public int version() {
    return buffer.getShort(offset + VERSION_OFFSET) & 0xffff;
  }

  /** Sets {@code version}. */
  public ServiceTableFlyweight version(int value) {
    buffer.putShort(offset + VERSION_OFFSET, (short) value);
    return this;
  }
}
