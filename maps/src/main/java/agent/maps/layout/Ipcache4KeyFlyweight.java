package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the IPv4 ipcache, an LPM trie. {@code struct ipcache4_key} in {@code maps/ipcache_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         prefix_length                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class Ipcache4KeyFlyweight {
  public static final int PREFIX_LENGTH_OFFSET = 0;
  public static final int ADDRESS_OFFSET = PREFIX_LENGTH_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = ADDRESS_OFFSET + 4;

  public static final StructSpec STRUCT =
      StructSpec.named("ipcache4_key", LENGTH)
          .scalar("prefix_length", PREFIX_LENGTH_OFFSET, U32)
          .bytes("address", ADDRESS_OFFSET, 4)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public Ipcache4KeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public Ipcache4KeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code prefix_length}, in address bits. */
  public int prefixLength() {
    return buffer.getInt(offset + PREFIX_LENGTH_OFFSET);
  }

  /** Sets {@code prefix_length}, in address bits. */
  public Ipcache4KeyFlyweight prefixLength(int value) {
    buffer.putInt(offset + PREFIX_LENGTH_OFFSET, value);
    return this;
  }

  /** Returns {@code address} as a number, first octet most significant. */
  public int address() {
    return buffer.getInt(offset + ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code address} as a number, first octet most significant. */
  public Ipcache4KeyFlyweight address(int value) {
    buffer.putInt(offset + ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }
}
