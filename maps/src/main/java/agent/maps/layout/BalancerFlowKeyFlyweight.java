package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Key of the map {@code balancer_flows}; an IPv4 address is an IPv4-mapped one. {@code struct
 * balancer_flow_key} in {@code maps/balancer_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             client                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            frontend                           |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         client_port_be        |        frontend_port_be       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    protocol   |                    reserved                   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class BalancerFlowKeyFlyweight {
  public static final int CLIENT_OFFSET = 0;
  public static final int FRONTEND_OFFSET = CLIENT_OFFSET + 16;
  public static final int CLIENT_PORT_BE_OFFSET = FRONTEND_OFFSET + 16;
  public static final int FRONTEND_PORT_BE_OFFSET = CLIENT_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int PROTOCOL_OFFSET = FRONTEND_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED_OFFSET = PROTOCOL_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + 3;

  public static final StructSpec STRUCT =
      StructSpec.named("balancer_flow_key", LENGTH)
          .bytes("client", CLIENT_OFFSET, 16)
          .bytes("frontend", FRONTEND_OFFSET, 16)
          .scalar("client_port_be", CLIENT_PORT_BE_OFFSET, BE16)
          .scalar("frontend_port_be", FRONTEND_PORT_BE_OFFSET, BE16)
          .scalar("protocol", PROTOCOL_OFFSET, U8)
          .bytes("reserved", RESERVED_OFFSET, 3)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public BalancerFlowKeyFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public BalancerFlowKeyFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns the upper 64 bits of {@code client}. */
  public long clientHigh() {
    return buffer.getLong(offset + CLIENT_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code client}. */
  public long clientLow() {
    return buffer.getLong(offset + CLIENT_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code client}. */
  public BalancerFlowKeyFlyweight client(long high, long low) {
    buffer.putLong(offset + CLIENT_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + CLIENT_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code frontend}. */
  public long frontendHigh() {
    return buffer.getLong(offset + FRONTEND_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code frontend}. */
  public long frontendLow() {
    return buffer.getLong(offset + FRONTEND_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code frontend}. */
  public BalancerFlowKeyFlyweight frontend(long high, long low) {
    buffer.putLong(offset + FRONTEND_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + FRONTEND_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code client_port_be} in host byte order. */
  public int clientPort() {
    return buffer.getShort(offset + CLIENT_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code client_port_be} in host byte order. */
  public BalancerFlowKeyFlyweight clientPort(int value) {
    buffer.putShort(offset + CLIENT_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code frontend_port_be} in host byte order. */
  public int frontendPort() {
    return buffer.getShort(offset + FRONTEND_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code frontend_port_be} in host byte order. */
  public BalancerFlowKeyFlyweight frontendPort(int value) {
    buffer.putShort(offset + FRONTEND_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code protocol}, TCP, UDP or SCTP. */
  public int protocol() {
    return buffer.getByte(offset + PROTOCOL_OFFSET) & 0xff;
  }

  /** Sets {@code protocol}, TCP, UDP or SCTP. */
  public BalancerFlowKeyFlyweight protocol(int value) {
    buffer.putByte(offset + PROTOCOL_OFFSET, (byte) value);
    return this;
  }
}
