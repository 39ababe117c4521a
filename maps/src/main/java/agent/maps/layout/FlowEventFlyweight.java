package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * One record of the ring buffer {@code events}. {@code struct flow_event} in {@code
 * maps/event_map.h}. The first bytes of the packet follow it where a subscriber wants them.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          timestamp_ns                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      type     |     reason    |   direction   |     family    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    protocol   |   tcp_flags   |          endpoint_id          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        source_identity                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      destination_identity                     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             length                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ifindex                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         source_port_be        |      destination_port_be      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  policy_flags |    reserved   |        captured_length        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         source_address                        |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                      destination_address                      |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class FlowEventFlyweight {
  public static final int TIMESTAMP_NS_OFFSET = 0;
  public static final int TYPE_OFFSET = TIMESTAMP_NS_OFFSET + SIZE_OF_LONG;
  public static final int REASON_OFFSET = TYPE_OFFSET + SIZE_OF_BYTE;
  public static final int DIRECTION_OFFSET = REASON_OFFSET + SIZE_OF_BYTE;
  public static final int FAMILY_OFFSET = DIRECTION_OFFSET + SIZE_OF_BYTE;
  public static final int PROTOCOL_OFFSET = FAMILY_OFFSET + SIZE_OF_BYTE;
  public static final int TCP_FLAGS_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int ENDPOINT_ID_OFFSET = TCP_FLAGS_OFFSET + SIZE_OF_BYTE;
  public static final int SOURCE_IDENTITY_OFFSET = ENDPOINT_ID_OFFSET + SIZE_OF_SHORT;
  public static final int DESTINATION_IDENTITY_OFFSET = SOURCE_IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int LENGTH_OFFSET = DESTINATION_IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int IFINDEX_OFFSET = LENGTH_OFFSET + SIZE_OF_INT;
  public static final int SOURCE_PORT_BE_OFFSET = IFINDEX_OFFSET + SIZE_OF_INT;
  public static final int DESTINATION_PORT_BE_OFFSET = SOURCE_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int POLICY_FLAGS_OFFSET = DESTINATION_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED_OFFSET = POLICY_FLAGS_OFFSET + SIZE_OF_BYTE;
  public static final int CAPTURED_LENGTH_OFFSET = RESERVED_OFFSET + SIZE_OF_BYTE;
  public static final int SOURCE_ADDRESS_OFFSET = CAPTURED_LENGTH_OFFSET + SIZE_OF_SHORT;
  public static final int DESTINATION_ADDRESS_OFFSET = SOURCE_ADDRESS_OFFSET + 16;
  public static final int LENGTH = DESTINATION_ADDRESS_OFFSET + 16;

  public static final StructSpec STRUCT =
      StructSpec.named("flow_event", LENGTH)
          .scalar("timestamp_ns", TIMESTAMP_NS_OFFSET, U64)
          .scalar("type", TYPE_OFFSET, U8)
          .scalar("reason", REASON_OFFSET, U8)
          .scalar("direction", DIRECTION_OFFSET, U8)
          .scalar("family", FAMILY_OFFSET, U8)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("tcp_flags", TCP_FLAGS_OFFSET, U8)
          .scalar("endpoint_id", ENDPOINT_ID_OFFSET, U16)
          .scalar("source_identity", SOURCE_IDENTITY_OFFSET, U32)
          .scalar("destination_identity", DESTINATION_IDENTITY_OFFSET, U32)
          .scalar("length", LENGTH_OFFSET, U32)
          .scalar("ifindex", IFINDEX_OFFSET, U32)
          .scalar("source_port_be", SOURCE_PORT_BE_OFFSET, BE16)
          .scalar("destination_port_be", DESTINATION_PORT_BE_OFFSET, BE16)
          .scalar("policy_flags", POLICY_FLAGS_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .scalar("captured_length", CAPTURED_LENGTH_OFFSET, U16)
          .bytes("source_address", SOURCE_ADDRESS_OFFSET, 16)
          .bytes("destination_address", DESTINATION_ADDRESS_OFFSET, 16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public FlowEventFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /**
   * Copies all bytes of the event, and behind them the first bytes of the packet.
   *
   * @param captured so many of them: at most {@link #capturedLength()}
   */
  public void copyTo(MutableDirectBuffer to, int index, int captured) {
    to.putBytes(index, buffer, offset, LENGTH + captured);
    to.putShort(index + CAPTURED_LENGTH_OFFSET, (short) captured);
  }

  /** Sets every byte to zero, including the reserved ones. */
  public FlowEventFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code timestamp_ns}, in ns on CLOCK_MONOTONIC. */
  public long timestampNs() {
    return buffer.getLong(offset + TIMESTAMP_NS_OFFSET);
  }

  /** Sets {@code timestamp_ns}, in ns on CLOCK_MONOTONIC. */
  public FlowEventFlyweight timestampNs(long value) {
    buffer.putLong(offset + TIMESTAMP_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code type}, a number of {@link EventType}. */
  public int type() {
    return buffer.getByte(offset + TYPE_OFFSET) & 0xff;
  }

  /** Sets {@code type}, a number of {@link EventType}. */
  public FlowEventFlyweight type(int value) {
    buffer.putByte(offset + TYPE_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code reason}, a number of {@link DropReason}. */
  public int reason() {
    return buffer.getByte(offset + REASON_OFFSET) & 0xff;
  }

  /** Sets {@code reason}, a number of {@link DropReason}. */
  public FlowEventFlyweight reason(int value) {
    buffer.putByte(offset + REASON_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code direction}, a number of {@link MetricsDirection}. */
  public int direction() {
    return buffer.getByte(offset + DIRECTION_OFFSET) & 0xff;
  }

  /** Sets {@code direction}, a number of {@link MetricsDirection}. */
  public FlowEventFlyweight direction(int value) {
    buffer.putByte(offset + DIRECTION_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code family}, 4 or 6. */
  public int family() {
    return buffer.getByte(offset + FAMILY_OFFSET) & 0xff;
  }

  /** Sets {@code family}, 4 or 6. */
  public FlowEventFlyweight family(int value) {
    buffer.putByte(offset + FAMILY_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number. */
  public FlowEventFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code tcp_flags}. */
  public int tcpFlags() {
    return buffer.getByte(offset + TCP_FLAGS_OFFSET) & 0xff;
  }

  /** Sets {@code tcp_flags}. */
  public FlowEventFlyweight tcpFlags(int value) {
    buffer.putByte(offset + TCP_FLAGS_OFFSET, (byte) value);
    return this;
  }

  /**
   * Returns {@code endpoint_id}, the endpoint whose program saw the packet; 0 means the host
   * program.
   */
  public int endpointId() {
    return buffer.getShort(offset + ENDPOINT_ID_OFFSET) & 0xffff;
  }

  /**
   * Sets {@code endpoint_id}, the endpoint whose program saw the packet; 0 means the host program.
   */
  public FlowEventFlyweight endpointId(int value) {
    buffer.putShort(offset + ENDPOINT_ID_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code source_identity}. */
  public int sourceIdentity() {
    return buffer.getInt(offset + SOURCE_IDENTITY_OFFSET);
  }

  /** Sets {@code source_identity}. */
  public FlowEventFlyweight sourceIdentity(int value) {
    buffer.putInt(offset + SOURCE_IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code destination_identity}. */
  public int destinationIdentity() {
    return buffer.getInt(offset + DESTINATION_IDENTITY_OFFSET);
  }

  /** Sets {@code destination_identity}. */
  public FlowEventFlyweight destinationIdentity(int value) {
    buffer.putInt(offset + DESTINATION_IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code length}, the length of the packet in bytes. */
  public int length() {
    return buffer.getInt(offset + LENGTH_OFFSET);
  }

  /** Sets {@code length}, the length of the packet in bytes. */
  public FlowEventFlyweight length(int value) {
    buffer.putInt(offset + LENGTH_OFFSET, value);
    return this;
  }

  /** Returns {@code ifindex}. */
  public int ifindex() {
    return buffer.getInt(offset + IFINDEX_OFFSET);
  }

  /** Sets {@code ifindex}. */
  public FlowEventFlyweight ifindex(int value) {
    buffer.putInt(offset + IFINDEX_OFFSET, value);
    return this;
  }

  /** Returns {@code source_port_be} in host byte order. */
  public int sourcePort() {
    return buffer.getShort(offset + SOURCE_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code source_port_be} in host byte order. */
  public FlowEventFlyweight sourcePort(int value) {
    buffer.putShort(offset + SOURCE_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code destination_port_be} in host byte order. */
  public int destinationPort() {
    return buffer.getShort(offset + DESTINATION_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code destination_port_be} in host byte order. */
  public FlowEventFlyweight destinationPort(int value) {
    buffer.putShort(offset + DESTINATION_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /**
   * Returns {@code policy_flags}, bits of {@link PolicyFlag}; AUDIT means that a forbidden packet
   * passed in audit mode.
   */
  public int policyFlags() {
    return buffer.getByte(offset + POLICY_FLAGS_OFFSET) & 0xff;
  }

  /**
   * Sets {@code policy_flags}, bits of {@link PolicyFlag}; AUDIT means that a forbidden packet
   * passed in audit mode.
   */
  public FlowEventFlyweight policyFlags(int value) {
    buffer.putByte(offset + POLICY_FLAGS_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code captured_length}, the bytes of the packet that follow the event. */
  public int capturedLength() {
    return buffer.getShort(offset + CAPTURED_LENGTH_OFFSET) & 0xffff;
  }

  /** Sets {@code captured_length}, the bytes of the packet that follow the event. */
  public FlowEventFlyweight capturedLength(int value) {
    buffer.putShort(offset + CAPTURED_LENGTH_OFFSET, (short) value);
    return this;
  }

  /** Returns the upper 64 bits of {@code source_address}. */
  public long sourceAddressHigh() {
    return buffer.getLong(offset + SOURCE_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code source_address}. */
  public long sourceAddressLow() {
    return buffer.getLong(offset + SOURCE_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code source_address}; an IPv4 address occupies the first four bytes. */
  public FlowEventFlyweight sourceAddress(long high, long low) {
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code destination_address}. */
  public long destinationAddressHigh() {
    return buffer.getLong(offset + DESTINATION_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code destination_address}. */
  public long destinationAddressLow() {
    return buffer.getLong(offset + DESTINATION_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code destination_address}; an IPv4 address occupies the first four bytes. */
  public FlowEventFlyweight destinationAddress(long high, long low) {
    buffer.putLong(offset + DESTINATION_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + DESTINATION_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }
}
