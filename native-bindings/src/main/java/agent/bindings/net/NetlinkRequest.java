package agent.bindings.net;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Encodes one netlink(7) request: the message header, the fields of the type's header, then
 * attributes; {@link NetlinkMessageFlyweight} and {@link NetlinkAttributeFlyweight} show the
 * layout. Every request asks for an acknowledgement.
 */
public final class NetlinkRequest {
  /** Replaces an existing object. */
  public static final int NLM_F_REPLACE = 0x100;

  /** Fails with EEXIST if the object exists. */
  public static final int NLM_F_EXCL = 0x200;

  /** Creates the object if it does not exist. */
  public static final int NLM_F_CREATE = 0x400;

  /** Asks for a list: NLM_F_ROOT and NLM_F_MATCH. */
  public static final int NLM_F_DUMP = 0x300;

  static final int MAX_LENGTH = 256;
  private static final int NLM_F_REQUEST = 0x1;
  private static final int NLM_F_ACK = 0x4;
  private static final int ATTRIBUTE_HEADER_LENGTH = 4;

  private final ByteBuffer buffer =
      ByteBuffer.allocate(MAX_LENGTH).order(ByteOrder.nativeOrder()); // zeros
  private final String operation;

  /**
   * Starts a request.
   *
   * @param operation operation and subject, for the message of a failure
   * @param type message type, such as RTM_NEWLINK
   * @param flags in addition to NLM_F_REQUEST and NLM_F_ACK
   */
  public NetlinkRequest(String operation, int type, int flags) {
    this.operation = operation;
    buffer.putShort(NetlinkMessageFlyweight.TYPE_OFFSET, (short) type);
    buffer.putShort(
        NetlinkMessageFlyweight.FLAGS_OFFSET, (short) (NLM_F_REQUEST | NLM_F_ACK | flags));
    buffer.position(NetlinkMessageFlyweight.HEADER_LENGTH);
  }

  /** Appends a byte of the type's header. */
  public NetlinkRequest putByte(int value) {
    buffer.put((byte) value);
    return this;
  }

  /** Appends two bytes of the type's header, in the machine's byte order. */
  public NetlinkRequest putShort(int value) {
    buffer.putShort((short) value);
    return this;
  }

  /** Appends four bytes of the type's header, in the machine's byte order. */
  public NetlinkRequest putInt(int value) {
    buffer.putInt(value);
    return this;
  }

  /** Appends an attribute of four bytes, in the machine's byte order. */
  public NetlinkRequest attribute(int type, int value) {
    attributeHeader(type, Integer.BYTES);
    buffer.putInt(value);
    return this;
  }

  /** Appends an attribute. */
  public NetlinkRequest attribute(int type, byte[] value) {
    attributeHeader(type, value.length);
    buffer.put(value);
    buffer.position(NetlinkMessageFlyweight.align(buffer.position()));
    return this;
  }

  /** Appends an attribute of text with its terminating NUL. */
  public NetlinkRequest attribute(int type, String text) {
    return attribute(type, (text + '\0').getBytes(StandardCharsets.UTF_8));
  }

  private void attributeHeader(int type, int length) {
    buffer.putShort((short) (ATTRIBUTE_HEADER_LENGTH + length)).putShort((short) type);
  }

  /** Returns operation and subject. */
  public String operation() {
    return operation;
  }

  /**
   * Returns the complete message with its length and sequence number; valid until the next call.
   */
  public ByteBuffer encode(int sequence) {
    buffer.putInt(NetlinkMessageFlyweight.LENGTH_OFFSET, buffer.position());
    buffer.putInt(NetlinkMessageFlyweight.SEQUENCE_OFFSET, sequence);
    return buffer.duplicate().flip();
  }
}
