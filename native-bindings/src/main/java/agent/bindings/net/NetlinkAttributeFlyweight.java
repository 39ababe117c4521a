package agent.bindings.net;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Iterates over the attributes of a netlink message ({@code struct nlattr}, {@code
 * linux/netlink.h}), in the machine's byte order:
 *
 * <pre>
 *   0         2         4
 *   +---------+---------+----------------------------+
 *   | length  | type    | value, padded to 4 bytes   |
 *   +---------+---------+----------------------------+
 * </pre>
 *
 * The length includes the header of four bytes and excludes the padding. A length that is too small
 * or exceeds the message causes a {@link NetlinkException}, and so does a value whose size differs
 * from the requested type. The object is reused and valid until the next wrap.
 */
public final class NetlinkAttributeFlyweight {
  private static final int LENGTH_OFFSET = 0;
  private static final int TYPE_OFFSET = LENGTH_OFFSET + Short.BYTES;
  private static final int HEADER_LENGTH = TYPE_OFFSET + Short.BYTES;

  /** Mask of the type without NLA_F_NESTED and NLA_F_NET_BYTEORDER. */
  private static final int NLA_TYPE_MASK = 0x3fff;

  private ByteBuffer buffer;
  private int nextOffset;
  private int limit;
  private int valueOffset;
  private int valueLength;
  private int type;
  private NetlinkAttributeFlyweight nested;

  /** Creates a flyweight without attributes; it is used after a wrap. */
  public NetlinkAttributeFlyweight() {}

  NetlinkAttributeFlyweight wrap(ByteBuffer newBuffer, int offset, int end) {
    buffer = newBuffer;
    nextOffset = offset;
    limit = end;
    valueLength = 0;
    return this;
  }

  /**
   * Moves to the next attribute.
   *
   * @return false after the last attribute
   * @throws NetlinkException if the following bytes are not a complete attribute
   */
  public boolean next() {
    final int left = limit - nextOffset;
    if (left <= 0) {
      return false;
    }
    if (left < HEADER_LENGTH) {
      throw NetlinkException.malformed(left + " bytes after the last attribute");
    }
    final int length = Short.toUnsignedInt(buffer.getShort(nextOffset + LENGTH_OFFSET));
    type = buffer.getShort(nextOffset + TYPE_OFFSET) & NLA_TYPE_MASK;
    if (length < HEADER_LENGTH || length > left) {
      throw NetlinkException.malformed(
          "attribute " + type + " of " + length + " bytes where " + left + " are left");
    }
    valueOffset = nextOffset + HEADER_LENGTH;
    valueLength = length - HEADER_LENGTH;
    nextOffset += NetlinkMessageFlyweight.align(length);
    return true;
  }

  /** Returns the attribute's type without flags. */
  public int type() {
    return type;
  }

  /** Returns the value's length in bytes, without padding. */
  public int length() {
    return valueLength;
  }

  /** Returns the value of one byte, unsigned. */
  public int getByte() {
    requireLength(Byte.BYTES);
    return Byte.toUnsignedInt(buffer.get(valueOffset));
  }

  /** Returns the value of four bytes in the machine's byte order. */
  public int getInt() {
    requireLength(Integer.BYTES);
    return buffer.getInt(valueOffset);
  }

  /** Returns the value of four bytes in network byte order, as nfnetlink has numbers. */
  public int getIntBe() {
    final int value = getInt();
    return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value);
  }

  /** Returns four bytes of the value, in the machine's byte order. */
  public int getInt(int offset) {
    requireRange(offset, Integer.BYTES);
    return buffer.getInt(valueOffset + offset);
  }

  /** Returns the value as a new array. */
  public byte[] getBytes() {
    final byte[] bytes = new byte[valueLength];
    buffer.get(valueOffset, bytes);
    return bytes;
  }

  /** Returns the value as text, up to the terminating NUL. */
  public String getText() {
    int end = 0;
    while (end < valueLength && buffer.get(valueOffset + end) != 0) {
      end++;
    }
    final byte[] bytes = new byte[end];
    buffer.get(valueOffset, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Returns the nested attributes of the value; valid until the next call of this method. */
  public NetlinkAttributeFlyweight nested() {
    if (nested == null) {
      nested = new NetlinkAttributeFlyweight();
    }
    return nested.wrap(buffer, valueOffset, valueOffset + valueLength);
  }

  private void requireLength(int wanted) {
    if (valueLength != wanted) {
      throw NetlinkException.malformed(
          "attribute " + type + " has " + valueLength + " bytes, not " + wanted);
    }
  }

  private void requireRange(int offset, int length) {
    if (offset < 0 || offset > valueLength - length) {
      throw NetlinkException.malformed(
          "attribute " + type + " has " + valueLength + " bytes, none at " + offset);
    }
  }
}
