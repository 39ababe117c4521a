package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U16;
import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U64;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;
import static org.agrona.BitUtil.SIZE_OF_SHORT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the conntrack maps. Pairs are indexed by {@link ConntrackSide}. {@code struct
 * conntrack_entry} in {@code maps/conntrack_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           expires_ns                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         generation[0]                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                         generation[1]                         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |         endpoint_id[0]        |         endpoint_id[1]        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |             flags             |  drop_reason  |    reserved   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                   delivery[2], 16 bytes each                  |
 * |                           (32 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          identity[0]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          identity[1]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           packets[0]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           packets[1]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            bytes[0]                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            bytes[1]                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ConntrackEntryFlyweight {
  public static final int EXPIRES_NS_OFFSET = 0;
  public static final int GENERATION_OFFSET = EXPIRES_NS_OFFSET + SIZE_OF_LONG;
  public static final int ENDPOINT_ID_OFFSET = GENERATION_OFFSET + SIZE_OF_INT * 2;
  public static final int FLAGS_OFFSET = ENDPOINT_ID_OFFSET + SIZE_OF_SHORT * 2;
  public static final int DROP_REASON_OFFSET = FLAGS_OFFSET + SIZE_OF_SHORT;
  public static final int RESERVED_OFFSET = DROP_REASON_OFFSET + SIZE_OF_BYTE;
  public static final int DELIVERY_OFFSET = RESERVED_OFFSET + SIZE_OF_BYTE;
  public static final int IDENTITY_OFFSET = DELIVERY_OFFSET + ConntrackDeliveryFlyweight.LENGTH * 2;
  public static final int PACKETS_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT * 2;
  public static final int BYTES_OFFSET = PACKETS_OFFSET + SIZE_OF_LONG * 2;
  public static final int LENGTH = BYTES_OFFSET + SIZE_OF_LONG * 2;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack_entry", LENGTH)
          .scalar("expires_ns", EXPIRES_NS_OFFSET, U64)
          .scalars("generation", GENERATION_OFFSET, U32, 2)
          .scalars("endpoint_id", ENDPOINT_ID_OFFSET, U16, 2)
          .scalar("flags", FLAGS_OFFSET, U16)
          .scalar("drop_reason", DROP_REASON_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .structs("delivery", DELIVERY_OFFSET, ConntrackDeliveryFlyweight.STRUCT, 2)
          .scalars("identity", IDENTITY_OFFSET, U32, 2)
          .scalars("packets", PACKETS_OFFSET, U64, 2)
          .scalars("bytes", BYTES_OFFSET, U64, 2)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;
  private final ConntrackDeliveryFlyweight delivery = new ConntrackDeliveryFlyweight();

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ConntrackEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ConntrackEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code expires_ns}, in ns on CLOCK_MONOTONIC. */
  public long expiresNs() {
    return buffer.getLong(offset + EXPIRES_NS_OFFSET);
  }

  /** Sets {@code expires_ns}, in ns on CLOCK_MONOTONIC. */
  public ConntrackEntryFlyweight expiresNs(long value) {
    buffer.putLong(offset + EXPIRES_NS_OFFSET, value);
    return this;
  }

  /**
   * Returns {@code generation[side]}, the policy generation under which the verdict was computed.
   */
  public int generation(int side) {
    return buffer.getInt(offset + GENERATION_OFFSET + side * SIZE_OF_INT);
  }

  /** Sets {@code generation[side]}, the policy generation under which the verdict was computed. */
  public ConntrackEntryFlyweight generation(int side, int value) {
    buffer.putInt(offset + GENERATION_OFFSET + side * SIZE_OF_INT, value);
    return this;
  }

  /**
   * Returns {@code endpoint_id[side]}; 0 means that the address is not an endpoint of this node.
   */
  public int endpointId(int side) {
    return buffer.getShort(offset + ENDPOINT_ID_OFFSET + side * SIZE_OF_SHORT) & 0xffff;
  }

  /** Sets {@code endpoint_id[side]}; 0 means that the address is not an endpoint of this node. */
  public ConntrackEntryFlyweight endpointId(int side, int value) {
    buffer.putShort(offset + ENDPOINT_ID_OFFSET + side * SIZE_OF_SHORT, (short) value);
    return this;
  }

  /** Returns {@code flags}, bits of {@link ConntrackFlag}. */
  public int flags() {
    return buffer.getShort(offset + FLAGS_OFFSET) & 0xffff;
  }

  /** Sets {@code flags}, bits of {@link ConntrackFlag}. */
  public ConntrackEntryFlyweight flags(int value) {
    buffer.putShort(offset + FLAGS_OFFSET, (short) value);
    return this;
  }

  /** Returns {@code drop_reason} of a denied flow, a number of {@link DropReason}. */
  public int dropReason() {
    return buffer.getByte(offset + DROP_REASON_OFFSET) & 0xff;
  }

  /** Sets {@code drop_reason} of a denied flow, a number of {@link DropReason}. */
  public ConntrackEntryFlyweight dropReason(int value) {
    buffer.putByte(offset + DROP_REASON_OFFSET, (byte) value);
    return this;
  }

  /** Returns a view of {@code delivery[side]}; every call returns the same object for a side. */
  public ConntrackDeliveryFlyweight delivery(int side) {
    return delivery.wrap(
        buffer, offset + DELIVERY_OFFSET + side * ConntrackDeliveryFlyweight.LENGTH);
  }

  /** Returns {@code identity[side]}. */
  public int identity(int side) {
    return buffer.getInt(offset + IDENTITY_OFFSET + side * SIZE_OF_INT);
  }

  /** Sets {@code identity[side]}. */
  public ConntrackEntryFlyweight identity(int side, int value) {
    buffer.putInt(offset + IDENTITY_OFFSET + side * SIZE_OF_INT, value);
    return this;
  }

  /** Returns {@code packets[side]} sent by that side. */
  public long packets(int side) {
    return buffer.getLong(offset + PACKETS_OFFSET + side * SIZE_OF_LONG);
  }

  /** Sets {@code packets[side]} sent by that side. */
  public ConntrackEntryFlyweight packets(int side, long value) {
    buffer.putLong(offset + PACKETS_OFFSET + side * SIZE_OF_LONG, value);
    return this;
  }

  /** Returns {@code bytes[side]} sent by that side. */
  public long bytes(int side) {
    return buffer.getLong(offset + BYTES_OFFSET + side * SIZE_OF_LONG);
  }

  /** Sets {@code bytes[side]} sent by that side. */
  public ConntrackEntryFlyweight bytes(int side, long value) {
    buffer.putLong(offset + BYTES_OFFSET + side * SIZE_OF_LONG, value);
    return this;
  }
}
