package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of a policy map. {@code struct policy_entry} in {@code maps/policy_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     flags     |    reserved   |            redirect           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class PolicyEntryFlyweight {
  public static final int FLAGS_OFFSET = 0;
  public static final int RESERVED_OFFSET = FLAGS_OFFSET + SIZE_OF_BYTE;
  public static final int REDIRECT_OFFSET = RESERVED_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = REDIRECT_OFFSET + SIZE_OF_SHORT;

  public static final StructSpec STRUCT =
      StructSpec.named("policy_entry", LENGTH)
          .scalar("flags", FLAGS_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .scalar("redirect", REDIRECT_OFFSET, U16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public PolicyEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public PolicyEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code flags}, bits of {@link PolicyFlag}. */
  public int flags() {
    return buffer.getByte(offset + FLAGS_OFFSET) & 0xff;
  }

  /** Sets {@code flags}, bits of {@link PolicyFlag}. */
  public PolicyEntryFlyweight flags(int value) {
    buffer.putByte(offset + FLAGS_OFFSET, (byte) value);
    return this;
  }

  /**
   * Returns {@code redirect}, a number of {@link RedirectKind}; used with {@link
   * PolicyFlag#REDIRECT}.
   */
  public int redirect() {
    return buffer.getShort(offset + REDIRECT_OFFSET) & 0xffff;
  }

  /**
   * Sets {@code redirect}, a number of {@link RedirectKind}; used with {@link PolicyFlag#REDIRECT}.
   */
  public PolicyEntryFlyweight redirect(int value) {
    buffer.putShort(offset + REDIRECT_OFFSET, (short) value);
    return this;
  }
}
