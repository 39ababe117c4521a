package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code devices}: the addresses that masqueraded flows get at a device. {@code
 * struct device_entry} in {@code maps/device_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             state                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ipv4                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ipv6                             |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class DeviceEntryFlyweight {
  public static final int STATE_OFFSET = 0;
  public static final int IPV4_OFFSET = STATE_OFFSET + SIZE_OF_INT;
  public static final int IPV6_OFFSET = IPV4_OFFSET + 4;
  public static final int LENGTH = IPV6_OFFSET + 16;

  public static final StructSpec STRUCT =
      StructSpec.named("device_entry", LENGTH)
          .scalar("state", STATE_OFFSET, U32)
          .bytes("ipv4", IPV4_OFFSET, 4)
          .bytes("ipv6", IPV6_OFFSET, 16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public DeviceEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Returns {@code state}. */
  public int state() {
    return buffer.getInt(offset + STATE_OFFSET);
  }

  /** Sets {@code state}. */
  public DeviceEntryFlyweight state(int value) {
    buffer.putInt(offset + STATE_OFFSET, value);
    return this;
  }

  /** Returns {@code ipv4}; 0: flows keep their own address. */
  public int ipv4() {
    return buffer.getInt(offset + IPV4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code ipv4}; 0: flows keep their own address. */
  public DeviceEntryFlyweight ipv4(int value) {
    buffer.putInt(offset + IPV4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code ipv6}. */
  public long ipv6High() {
    return buffer.getLong(offset + IPV6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code ipv6}. */
  public long ipv6Low() {
    return buffer.getLong(offset + IPV6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code ipv6}; 0: flows keep their own address. */
  public DeviceEntryFlyweight ipv6(long high, long low) {
    buffer.putLong(offset + IPV6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + IPV6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }
}
