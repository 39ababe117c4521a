package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the maps {@code service_cells} and {@code service_ends}. {@code struct service_table_key}
 * in {@code maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            version            |             index             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceTableKeyFlyweight {
  public static final int SERVICE_ID_OFFSET = 0;
  public static final int VERSION_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int INDEX_OFFSET = VERSION_OFFSET + SIZE_OF_SHORT;
  public static final int LENGTH = INDEX_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("service_table_key", LENGTH)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .scalar("version", VERSION_OFFSET, U16)
          .scalar("index", INDEX_OFFSET, U16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceTableKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public ServiceTableKeyFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
    return this;
  }

  /** Returns {@code version}. */
  public int version() {
    return buffer.getShort(offset + VERSION_OFFSET) & 0xffff;
  }

  /** Sets {@code version}. */
  public ServiceTableKeyFlyweight version(int value) {
    buffer.putShort(offset + VERSION_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code index}. */
  public int index() {
    return buffer.getShort(offset + INDEX_OFFSET) & 0xffff;
  }

  /** Sets {@code index}. */
  public ServiceTableKeyFlyweight index(int value) {
    buffer.putShort(offset + INDEX_OFFSET, (short) value);
    return this;
  }
}
