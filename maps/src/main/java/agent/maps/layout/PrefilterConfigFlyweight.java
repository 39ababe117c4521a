package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U8;
import static org.agrona.BitUtil.SIZE_OF_BYTE;

import org.agrona.MutableDirectBuffer;

/**
 * Load-time constants of the prefilter, in {@code .rodata}. {@code struct prefilter_config} in
 * {@code config/prefilter_config.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  enable_ipv4  |  enable_ipv6  |            reserved           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PrefilterConfigFlyweight {
  public static final int ENABLE_IPV4_OFFSET = 0;
  public static final int ENABLE_IPV6_OFFSET = ENABLE_IPV4_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = ENABLE_IPV6_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + 2;

  public static final StructSpec STRUCT =
      StructSpec.named("prefilter_config", LENGTH)
          .scalar("enable_ipv4", ENABLE_IPV4_OFFSET, U8)
          .scalar("enable_ipv6", ENABLE_IPV6_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 2)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PrefilterConfigFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public PrefilterConfigFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code enable_ipv4}, 0 or 1. */
  public int enableIpv4() {
    return buffer.getByte(offset + ENABLE_IPV4_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv4}, 0 or 1. */
  public PrefilterConfigFlyweight enableIpv4(int value) {
    buffer.putByte(offset + ENABLE_IPV4_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code enable_ipv6}, 0 or 1. */
  public int enableIpv6() {
    return buffer.getByte(offset + ENABLE_IPV6_OFFSET) & 0xff;
  }

  /** Sets {@code enable_ipv6}, 0 or 1. */
  public PrefilterConfigFlyweight enableIpv6(int value) {
    buffer.putByte(offset + ENABLE_IPV6_OFFSET, (byte) value);
    return this;
  }
}
