package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.BE16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the map {@code balancer_flows}: the backend of a flow. {@code struct balancer_flow} in
 * {@code maps/balancer_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            address                            |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            port_be            |    by_stack   |    reserved   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class BalancerFlowFlyweight {
  public static final int SERVICE_ID_OFFSET = 0;
  public static final int ADDRESS_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int PORT_BE_OFFSET = ADDRESS_OFFSET + 16;
  public static final int BY_STACK_OFFSET = PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED_OFFSET = BY_STACK_OFFSET + SIZE_OF_BYTE;
  public static final int LENGTH = RESERVED_OFFSET + SIZE_OF_BYTE;

  public static final StructSpec STRUCT =
      StructSpec.named("balancer_flow", LENGTH)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .bytes("address", ADDRESS_OFFSET, 16)
          .scalar("port_be", PORT_BE_OFFSET, BE16)
          .scalar("by_stack", BY_STACK_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public BalancerFlowFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public BalancerFlowFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code service_id}. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Sets {@code service_id}. */
  public BalancerFlowFlyweight serviceId(int value) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, value);
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
  public BalancerFlowFlyweight address(long high, long low) {
    buffer.putLong(offset + ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code port_be} in host byte order. */
  public int port() {
    return buffer.getShort(offset + PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code port_be} in host byte order. */
  public BalancerFlowFlyweight port(int value) {
    buffer.putShort(offset + PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code by_stack}, 1 where the stack takes the packets. */
  public int byStack() {
    return buffer.getByte(offset + BY_STACK_OFFSET) & 0xff;
  }

  /** Sets {@code by_stack}, 1 where the stack takes the packets. */
  public BalancerFlowFlyweight byStack(int value) {
    buffer.putByte(offset + BY_STACK_OFFSET, (byte) value);
    return this;
  }
}
