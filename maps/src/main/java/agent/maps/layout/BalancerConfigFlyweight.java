package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Load-time constants of the load balancer, in {@code .rodata}. {@code struct balancer_config} in
 * {@code config/balancer_config.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              mac                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              ...              |  enable_ipv4  |  enable_ipv6  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            source4                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            source6                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class BalancerConfigFlyweight {
  public static final int MAC_OFFSET = 0;
  public static final int ENABLE_IPV4_OFFSET = MAC_OFFSET + 6;
  public static final int ENABLE_IPV6_OFFSET = ENABLE_IPV4_OFFSET + SIZE_OF_BYTE;
  public static final int SOURCE4_OFFSET = ENABLE_IPV6_OFFSET + SIZE_OF_BYTE;
  public static final int SOURCE6_OFFSET = SOURCE4_OFFSET + 4;
  public static final int LENGTH = SOURCE6_OFFSET + 16;

  public static final StructSpec STRUCT =
      StructSpec.named("balancer_config", LENGTH)
          .bytes("mac", MAC_OFFSET, 6)
          .scalar("enable_ipv4", ENABLE_IPV4_OFFSET, U8)
          .scalar("enable_ipv6", ENABLE_IPV6_OFFSET, U8)
          .bytes("source4", SOURCE4_OFFSET, 4)
          .bytes("source6", SOURCE6_OFFSET, 16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public BalancerConfigFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public BalancerConfigFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code mac}, the MAC address of the device, first octet most significant. */
  public long mac() {
    return MacBytes.get(buffer, offset + MAC_OFFSET);
  }

  /** Sets {@code mac}, the MAC address of the device, first octet most significant. */
  public BalancerConfigFlyweight mac(long value) {
    MacBytes.put(buffer, offset + MAC_OFFSET, value);
    return this;
  }

  /** Returns {@code enable_ipv4}, 0 or 1. */
  public int enableIpv4() {
    return buffer.getByte(offset + ENABLE_IPV4_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv4}, 0 or 1. */
  public BalancerConfigFlyweight enableIpv4(int value) {
    buffer.putByte(offset + ENABLE_IPV4_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code enable_ipv6}, 0 or 1. */
  public int enableIpv6() {
    return buffer.getByte(offset + ENABLE_IPV6_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv6}, 0 or 1. */
  public BalancerConfigFlyweight enableIpv6(int value) {
    buffer.putByte(offset + ENABLE_IPV6_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code source4} as a number, first octet most significant. */
  public int source4() {
    return buffer.getInt(offset + SOURCE4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code source4} as a number, first octet most significant. */
  public BalancerConfigFlyweight source4(int value) {
    buffer.putInt(offset + SOURCE4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code source6}. */
  public long source6High() {
    return buffer.getLong(offset + SOURCE6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code source6}. */
  public long source6Low() {
    return buffer.getLong(offset + SOURCE6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code source6}. */
  public BalancerConfigFlyweight source6(long high, long low) {
    buffer.putLong(offset + SOURCE6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + SOURCE6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }
}
