package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U8;
import static org.agrona.BitUtil.SIZE_OF_BYTE;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the prefilter tries. {@code struct prefilter_entry} in {@code maps/prefilter_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      deny     |
 * +-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PrefilterEntryFlyweight {
  public static final int DENY_OFFSET = 0;
  public static final int LENGTH = DENY_OFFSET + SIZE_OF_BYTE;

  public static final StructSpec STRUCT =
      StructSpec.named("prefilter_entry", LENGTH).scalar("deny", DENY_OFFSET, U8).build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PrefilterEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public PrefilterEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code deny}; 1 means drop. */
  public int deny() {
    return buffer.getByte(offset + DENY_OFFSET) & 0xff;
  }

  /** Sets {@code deny}; 1 means drop. */
  public PrefilterEntryFlyweight deny(int value) {
    buffer.putByte(offset + DENY_OFFSET, (byte) value);
    return this;
  }
}
