package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the map {@code service_affinities}. {@code struct service_affinity_key} in {@code
 * maps/service_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             client                            |
 * |                           (8 bytes)                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            reserved                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ServiceAffinityKeyFlyweight {
  public static final int CLIENT_OFFSET = 0;
  public static final int SERVICE_ID_OFFSET = CLIENT_OFFSET + SIZE_OF_LONG;
  public static final int RESERVED_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = RESERVED_OFFSET + 4;

  public static final StructSpec STRUCT =
      StructSpec.named("service_affinity_key", LENGTH)
          .scalar("client", CLIENT_OFFSET, U64)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .bytes("reserved", RESERVED_OFFSET, 4)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ServiceAffinityKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ServiceAffinityKeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code client}, the cookie of a network namespace. */
  public long client() {
    return buffer.getLong(offset + CLIENT_OFFSET);
  }

  /** Sets {@code client}, the cookie of a network namespace. */
  public ServiceAffinityKeyFlyweight client(long value) {
    buffer.putLong(offset + CLIENT_OFFSET, value);
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public ServiceAffinityKeyFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
    return this;
  }
}
