package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the IPv6 prefilter, an LPM trie. {@code struct prefilter6_key} in {@code
 * maps/prefilter_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         prefix_length                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class Prefilter6KeyFlyweight {
  public static final int PREFIX_LENGTH_OFFSET = 0;
  public static final int ADDRESS_OFFSET = PREFIX_LENGTH_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = ADDRESS_OFFSET + 16;

  public static final StructSpec STRUCT =
      StructSpec.named("prefilter6_key", LENGTH)
          .scalar("prefix_length", PREFIX_LENGTH_OFFSET, U32)
          .bytes("address", ADDRESS_OFFSET, 16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public Prefilter6KeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public Prefilter6KeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code prefix_length}, in address bits. */
  public int prefixLength() {
    return buffer.getInt(offset + PREFIX_LENGTH_OFFSET);
  }

  /** Sets {@code prefix_length}, in address bits. */
  public Prefilter6KeyFlyweight prefixLength(int value) {
    buffer.putInt(offset + PREFIX_LENGTH_OFFSET, value);
    return this;
  }

  /** Returns the upper 64 bits of {@code address}. */
  public long addressHigh() {
    return buffer.getLong(offset + ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code address}. */
  public long addressLow() {
    return buffer.getLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code address}. */
  public Prefilter6KeyFlyweight address(long high, long low) {
    buffer.putLong(offset + ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }
}
