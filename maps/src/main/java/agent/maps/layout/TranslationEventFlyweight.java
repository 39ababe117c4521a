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
 * One record of the ring buffer {@code events}, of a flow or a peer of a socket that was given a
 * backend. {@code struct translation_event} in {@code maps/event_map.h}. Its type is where that of
 * {@link FlowEventFlyweight} is.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          timestamp_ns                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |      type     |     place     |     family    |    protocol   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |          endpoint_id          |            reserved           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        source_identity                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        backend_identity                       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         source_port_be        |        frontend_port_be       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |        backend_port_be        |           reserved2           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        namespace_cookie                       |
 * |                           (8 bytes)                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         source_address                        |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        frontend_address                       |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        backend_address                        |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class TranslationEventFlyweight {
  public static final int TIMESTAMP_NS_OFFSET = 0;
  public static final int TYPE_OFFSET = TIMESTAMP_NS_OFFSET + SIZE_OF_LONG;
  public static final int PLACE_OFFSET = TYPE_OFFSET + SIZE_OF_BYTE;
  public static final int FAMILY_OFFSET = PLACE_OFFSET + SIZE_OF_BYTE;
  public static final int PROTOCOL_OFFSET = FAMILY_OFFSET + SIZE_OF_BYTE;
  public static final int ENDPOINT_ID_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = ENDPOINT_ID_OFFSET + SIZE_OF_SHORT;
  public static final int SERVICE_ID_OFFSET = RESERVED_OFFSET + 2;
  public static final int SOURCE_IDENTITY_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int BACKEND_IDENTITY_OFFSET = SOURCE_IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int SOURCE_PORT_BE_OFFSET = BACKEND_IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int FRONTEND_PORT_BE_OFFSET = SOURCE_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int BACKEND_PORT_BE_OFFSET = FRONTEND_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED2_OFFSET = BACKEND_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int NAMESPACE_COOKIE_OFFSET = RESERVED2_OFFSET + 6;
  public static final int SOURCE_ADDRESS_OFFSET = NAMESPACE_COOKIE_OFFSET + SIZE_OF_LONG;
  public static final int FRONTEND_ADDRESS_OFFSET = SOURCE_ADDRESS_OFFSET + 16;
  public static final int BACKEND_ADDRESS_OFFSET = FRONTEND_ADDRESS_OFFSET + 16;
  public static final int LENGTH = BACKEND_ADDRESS_OFFSET + 16;

  public static final StructSpec STRUCT =
      StructSpec.named("translation_event", LENGTH)
          .scalar("timestamp_ns", TIMESTAMP_NS_OFFSET, U64)
          .scalar("type", TYPE_OFFSET, U8)
          .scalar("place", PLACE_OFFSET, U8)
          .scalar("family", FAMILY_OFFSET, U8)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .scalar("endpoint_id", ENDPOINT_ID_OFFSET, U16)
          .bytes("reserved", RESERVED_OFFSET, 2)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .scalar("source_identity", SOURCE_IDENTITY_OFFSET, U32)
          .scalar("backend_identity", BACKEND_IDENTITY_OFFSET, U32)
          .scalar("source_port_be", SOURCE_PORT_BE_OFFSET, BE16)
          .scalar("frontend_port_be", FRONTEND_PORT_BE_OFFSET, BE16)
          .scalar("backend_port_be", BACKEND_PORT_BE_OFFSET, BE16)
          .bytes("reserved2", RESERVED2_OFFSET, 6)
          .scalar("namespace_cookie", NAMESPACE_COOKIE_OFFSET, U64)
          .bytes("source_address", SOURCE_ADDRESS_OFFSET, 16)
          .bytes("frontend_address", FRONTEND_ADDRESS_OFFSET, 16)
          .bytes("backend_address", BACKEND_ADDRESS_OFFSET, 16)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public TranslationEventFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Copies all bytes of the event. */
  public void copyTo(MutableDirectBuffer to, int index) {
    to.putBytes(index, buffer, offset, LENGTH);
  }

  /** Returns {@code timestamp_ns}, in ns on CLOCK_MONOTONIC. */
  public long timestampNs() {
    return buffer.getLong(offset + TIMESTAMP_NS_OFFSET);
  }

  /** Sets {@code timestamp_ns}, in ns on CLOCK_MONOTONIC. */
  public TranslationEventFlyweight timestampNs(long value) {
    buffer.putLong(offset + TIMESTAMP_NS_OFFSET, value);
    return this;
  }

  /** Returns {@code type}, a number of {@link EventType}: TRANSLATION. */
  public int type() {
    return buffer.getByte(offset + TYPE_OFFSET) & 0xff;
  }

  /** Sets {@code type}, a number of {@link EventType}: TRANSLATION. */
  public TranslationEventFlyweight type(int value) {
    buffer.putByte(offset + TYPE_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code place}, a number of {@link TranslationPlace}. */
  public int place() {
    return buffer.getByte(offset + PLACE_OFFSET) & 0xff;
  }

  /** Sets {@code place}, a number of {@link TranslationPlace}. */
  public TranslationEventFlyweight place(int value) {
    buffer.putByte(offset + PLACE_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code family}, 4 or 6, of all addresses. */
  public int family() {
    return buffer.getByte(offset + FAMILY_OFFSET) & 0xff;
  }

  /** Sets {@code family}, 4 or 6, of all addresses. */
  public TranslationEventFlyweight family(int value) {
    buffer.putByte(offset + FAMILY_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code protocol}, the layer 4 protocol number. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, the layer 4 protocol number. */
  public TranslationEventFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }

  /**
   * Returns {@code endpoint_id}, whose flow it is; 0 for that of a socket or of a client outside.
   */
  public int endpointId() {
    return buffer.getShort(offset + ENDPOINT_ID_OFFSET) & 0xffff;
  }

  /** Sets {@code endpoint_id}, whose flow it is; 0 for that of a socket or of a client outside. */
  public TranslationEventFlyweight endpointId(int value) {
    buffer.putShort(offset + ENDPOINT_ID_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public TranslationEventFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
    return this;
  }

  /** Returns {@code source_identity}, 0 for a socket. */
  public int sourceIdentity() {
    return buffer.getInt(offset + SOURCE_IDENTITY_OFFSET);
  }

  /** Sets {@code source_identity}, 0 for a socket. */
  public TranslationEventFlyweight sourceIdentity(int value) {
    buffer.putInt(offset + SOURCE_IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code backend_identity}, 0 for a socket. */
  public int backendIdentity() {
    return buffer.getInt(offset + BACKEND_IDENTITY_OFFSET);
  }

  /** Sets {@code backend_identity}, 0 for a socket. */
  public TranslationEventFlyweight backendIdentity(int value) {
    buffer.putInt(offset + BACKEND_IDENTITY_OFFSET, value);
    return this;
  }

  /** Returns {@code source_port_be} in host byte order. */
  public int sourcePort() {
    return buffer.getShort(offset + SOURCE_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code source_port_be} in host byte order. */
  public TranslationEventFlyweight sourcePort(int value) {
    buffer.putShort(offset + SOURCE_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code frontend_port_be} in host byte order. */
  public int frontendPort() {
    return buffer.getShort(offset + FRONTEND_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code frontend_port_be} in host byte order. */
  public TranslationEventFlyweight frontendPort(int value) {
    buffer.putShort(offset + FRONTEND_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code backend_port_be} in host byte order. */
  public int backendPort() {
    return buffer.getShort(offset + BACKEND_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code backend_port_be} in host byte order. */
  public TranslationEventFlyweight backendPort(int value) {
    buffer.putShort(offset + BACKEND_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code namespace_cookie}, the network namespace of a socket; 0 for no socket. */
  public long namespaceCookie() {
    return buffer.getLong(offset + NAMESPACE_COOKIE_OFFSET);
  }

  /** Sets {@code namespace_cookie}, the network namespace of a socket; 0 for no socket. */
  public TranslationEventFlyweight namespaceCookie(long value) {
    buffer.putLong(offset + NAMESPACE_COOKIE_OFFSET, value);
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

  /**
   * Sets {@code source_address}, zeros for a socket; an IPv4 address occupies the first four bytes.
   */
  public TranslationEventFlyweight sourceAddress(long high, long low) {
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + SOURCE_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code frontend_address}. */
  public long frontendAddressHigh() {
    return buffer.getLong(offset + FRONTEND_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code frontend_address}. */
  public long frontendAddressLow() {
    return buffer.getLong(offset + FRONTEND_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code frontend_address}. */
  public TranslationEventFlyweight frontendAddress(long high, long low) {
    buffer.putLong(offset + FRONTEND_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + FRONTEND_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code backend_address}. */
  public long backendAddressHigh() {
    return buffer.getLong(offset + BACKEND_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code backend_address}. */
  public long backendAddressLow() {
    return buffer.getLong(offset + BACKEND_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code backend_address}. */
  public TranslationEventFlyweight backendAddress(long high, long low) {
    buffer.putLong(offset + BACKEND_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + BACKEND_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }
}
