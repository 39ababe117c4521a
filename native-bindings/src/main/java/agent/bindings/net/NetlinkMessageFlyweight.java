package agent.bindings.net;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Iterates over the netlink messages of one datagram ({@code struct nlmsghdr}, {@code
 * linux/netlink.h}), in the machine's byte order:
 *
 * <pre>
 *   0         4      6       8          12        16
 *   +---------+------+-------+----------+---------+----------------------------+
 *   | length  | type | flags | sequence | port id | payload, padded to 4 bytes |
 *   +---------+------+-------+----------+---------+----------------------------+
 * </pre>
 *
 * The length includes the header and excludes the padding. A length that is too small or exceeds
 * the datagram causes a {@link NetlinkException}, and so does an access beyond the payload. The
 * object is reused and valid until the next wrap.
 */
public final class NetlinkMessageFlyweight {
  static final int LENGTH_OFFSET = 0;
  static final int TYPE_OFFSET = LENGTH_OFFSET + Integer.BYTES;
  static final int FLAGS_OFFSET = TYPE_OFFSET + Short.BYTES;
  static final int SEQUENCE_OFFSET = FLAGS_OFFSET + Short.BYTES;
  static final int PORT_ID_OFFSET = SEQUENCE_OFFSET + Integer.BYTES;
  static final int HEADER_LENGTH = PORT_ID_OFFSET + Integer.BYTES;

  private final NetlinkAttributeFlyweight attributes = new NetlinkAttributeFlyweight();
  private ByteBuffer buffer;
  private int nextOffset;
  private int limit;
  private int offset;
  private int payloadLength;

  /** Creates a flyweight without messages; it is used after {@link #wrap}. */
  public NetlinkMessageFlyweight() {}

  /** Rounds a length up, as NLMSG_ALIGN and NLA_ALIGN do. */
  static int align(int length) {
    return length + Integer.BYTES - 1 & -Integer.BYTES;
  }

  /**
   * Wraps a datagram; {@link #next()} moves to the first message.
   *
   * @param datagram in the machine's byte order; its position and limit are not used
   * @param length bytes of the datagram, from offset 0, that contain messages
   * @return this
   */
  public NetlinkMessageFlyweight wrap(ByteBuffer datagram, int length) {
    if (datagram.order() != ByteOrder.nativeOrder() || length > datagram.capacity()) {
      throw new IllegalArgumentException(datagram + " " + datagram.order() + ", length " + length);
    }
    buffer = datagram;
    nextOffset = 0;
    limit = length;
    payloadLength = 0;
    return this;
  }

  /**
   * Moves to the next message.
   *
   * @return false after the last message
   * @throws NetlinkException if the following bytes are not a complete message
   */
  public boolean next() {
    final int left = limit - nextOffset;
    if (left <= 0) {
      return false;
    }
    final int length = left < HEADER_LENGTH ? left : buffer.getInt(nextOffset + LENGTH_OFFSET);
    if (length < HEADER_LENGTH || length > left) {
      throw NetlinkException.malformed(
          "message of " + Integer.toUnsignedString(length) + " bytes where " + left + " are left");
    }
    offset = nextOffset;
    payloadLength = length - HEADER_LENGTH;
    nextOffset += align(length);
    return true;
  }

  /** Returns the type of the message, such as RTM_NEWLINK. */
  public int type() {
    return Short.toUnsignedInt(buffer.getShort(offset + TYPE_OFFSET));
  }

  /** Returns the flags of the message, such as NLM_F_MULTI. */
  public int flags() {
    return Short.toUnsignedInt(buffer.getShort(offset + FLAGS_OFFSET));
  }

  /** Returns the sequence number of the answered request; 0 in an event. */
  public int sequence() {
    return buffer.getInt(offset + SEQUENCE_OFFSET);
  }

  /** Returns one byte of the payload, unsigned. */
  public int getByte(int payloadOffset) {
    return Byte.toUnsignedInt(buffer.get(position(payloadOffset, Byte.BYTES)));
  }

  /** Returns two bytes of the payload, unsigned, in the machine's byte order. */
  public int getShort(int payloadOffset) {
    return Short.toUnsignedInt(buffer.getShort(position(payloadOffset, Short.BYTES)));
  }

  /** Returns four bytes of the payload, in the machine's byte order. */
  public int getInt(int payloadOffset) {
    return buffer.getInt(position(payloadOffset, Integer.BYTES));
  }

  /**
   * Returns the attributes that follow the payload's header; valid until the next call of this
   * method.
   *
   * @param headerLength length of that header, such as {@code struct ifinfomsg}, in bytes
   * @throws NetlinkException if the payload is shorter
   */
  public NetlinkAttributeFlyweight attributes(int headerLength) {
    if (headerLength < 0 || headerLength > payloadLength) {
      throw NetlinkException.malformed(
          "message " + type() + " has " + payloadLength + " bytes, not " + headerLength);
    }
    final int start = offset + HEADER_LENGTH;
    return attributes.wrap(buffer, start + align(headerLength), start + payloadLength);
  }

  private int position(int payloadOffset, int length) {
    if (payloadOffset < 0 || payloadOffset > payloadLength - length) {
      throw NetlinkException.malformed(
          "message " + type() + " has " + payloadLength + " bytes, none at " + payloadOffset);
    }
    return offset + HEADER_LENGTH + payloadOffset;
  }
}
