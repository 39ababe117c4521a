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

import java.util.Map;
import org.agrona.MutableDirectBuffer;

/**
 * Value of the conntrack maps. Pairs are indexed by {@link ConntrackSide}. {@code struct
 * conntrack_entry} in {@code maps/conntrack_map.h}, where its fields are explained.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           expires_ns                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           generation                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |            party[0]           |            party[1]           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             flags                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |       delivery_index[0]       |       delivery_index[1]       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * | delivery_kind0| delivery_kind1|  drop_reason  |    rewrite    |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        rewrite_address                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |        rewrite_port_be        |        rewrite_checksum       |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |        acknowledged[0]        |        acknowledged[1]        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           pending[0]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           pending[1]                          |
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
 * |                          identity[0]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          identity[1]                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           service_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                       service_generation                      |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ConntrackEntryFlyweight {
  private static final int ADDRESS_BYTES = 16;

  public static final int EXPIRES_NS_OFFSET = 0;
  public static final int GENERATION_OFFSET = EXPIRES_NS_OFFSET + SIZE_OF_LONG;
  public static final int PARTY_OFFSET = GENERATION_OFFSET + SIZE_OF_LONG;
  public static final int FLAGS_OFFSET = PARTY_OFFSET + SIZE_OF_SHORT * 2;
  public static final int DELIVERY_INDEX_OFFSET = FLAGS_OFFSET + SIZE_OF_INT;
  public static final int DELIVERY_KIND_OFFSET = DELIVERY_INDEX_OFFSET + SIZE_OF_SHORT * 2;
  public static final int DROP_REASON_OFFSET = DELIVERY_KIND_OFFSET + SIZE_OF_BYTE * 2;
  public static final int REWRITE_OFFSET = DROP_REASON_OFFSET + SIZE_OF_BYTE;
  public static final int REWRITE_ADDRESS_OFFSET = REWRITE_OFFSET + SIZE_OF_BYTE;
  public static final int REWRITE_PORT_BE_OFFSET = REWRITE_ADDRESS_OFFSET + ADDRESS_BYTES;
  public static final int REWRITE_CHECKSUM_OFFSET = REWRITE_PORT_BE_OFFSET + SIZE_OF_SHORT;
  public static final int ACKNOWLEDGED_OFFSET = REWRITE_CHECKSUM_OFFSET + SIZE_OF_SHORT;
  public static final int PENDING_OFFSET = ACKNOWLEDGED_OFFSET + SIZE_OF_SHORT * 2;
  public static final int PACKETS_OFFSET = PENDING_OFFSET + SIZE_OF_INT * 2;
  public static final int BYTES_OFFSET = PACKETS_OFFSET + SIZE_OF_LONG * 2;
  public static final int IDENTITY_OFFSET = BYTES_OFFSET + SIZE_OF_LONG * 2;
  public static final int SERVICE_ID_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT * 2;
  public static final int SERVICE_GENERATION_OFFSET = SERVICE_ID_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = SERVICE_GENERATION_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack_entry", LENGTH)
          .scalar("expires_ns", EXPIRES_NS_OFFSET, U64)
          .scalar("generation", GENERATION_OFFSET, U64)
          .scalars("party", PARTY_OFFSET, U16, 2)
          .scalar("flags", FLAGS_OFFSET, U32)
          .scalars("delivery_index", DELIVERY_INDEX_OFFSET, U16, 2)
          .bytes("delivery_kind", DELIVERY_KIND_OFFSET, 2)
          .scalar("drop_reason", DROP_REASON_OFFSET, U8)
          .scalar("rewrite", REWRITE_OFFSET, U8)
          .bytes("rewrite_address", REWRITE_ADDRESS_OFFSET, ADDRESS_BYTES)
          .scalar("rewrite_port_be", REWRITE_PORT_BE_OFFSET, BE16)
          .scalar("rewrite_checksum", REWRITE_CHECKSUM_OFFSET, U16)
          .scalars("acknowledged", ACKNOWLEDGED_OFFSET, U16, 2)
          .scalars("pending", PENDING_OFFSET, U32, 2)
          .scalars("packets", PACKETS_OFFSET, U64, 2)
          .scalars("bytes", BYTES_OFFSET, U64, 2)
          .scalars("identity", IDENTITY_OFFSET, U32, 2)
          .scalar("service_id", SERVICE_ID_OFFSET, U32)
          .scalar("service_generation", SERVICE_GENERATION_OFFSET, U32)
          .build();

  private static final int PENDING_SHIFT = 24;
  private static final int PENDING_PACKETS = 16;
  private static final int PENDING_BYTES_MASK = (1 << PENDING_SHIFT) - 1;

  /** {@code enum conntrack_pending}: how {@code pending} holds packets and bytes. */
  static final EnumSpec PENDING_ENUM =
      EnumSpec.of(
          "conntrack_pending",
          Map.of(
              "CONNTRACK_PENDING_SHIFT", PENDING_SHIFT,
              "CONNTRACK_PENDING_PACKETS", PENDING_PACKETS));

  private MutableDirectBuffer buffer;
  private int offset;

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

  /** Returns {@code generation}: the sum of both sides' generations under which policy decided. */
  public long generation() {
    return buffer.getLong(offset + GENERATION_OFFSET);
  }

  /** Sets {@code generation}: the sum of both sides' generations under which policy decided. */
  public ConntrackEntryFlyweight generation(long value) {
    buffer.putLong(offset + GENERATION_OFFSET, value);
    return this;
  }

  /** Returns {@code party[side]}: an endpoint id, or the shard of an outside address. */
  public int party(int side) {
    return buffer.getShort(offset + PARTY_OFFSET + side * SIZE_OF_SHORT) & 0xffff;
  }

  /**
   * Sets {@code party[side]}: an endpoint id, or the shard of an outside address, which a flag
   * tells.
   */
  public ConntrackEntryFlyweight party(int side, int value) {
    buffer.putShort(offset + PARTY_OFFSET + side * SIZE_OF_SHORT, (short) value);
    return this;
  }

  /** Returns the id of the endpoint on this side; 0: the address is not an endpoint's here. */
  public int endpointId(int side) {
    final ConntrackFlag outside =
        side == 0 ? ConntrackFlag.OUTSIDE_LOW : ConntrackFlag.OUTSIDE_HIGH;
    return (flags() & outside.number()) == 0 ? party(side) : 0;
  }

  /** Returns {@code flags}, bits of {@link ConntrackFlag}. */
  public int flags() {
    return buffer.getInt(offset + FLAGS_OFFSET);
  }

  /** Sets {@code flags}, bits of {@link ConntrackFlag}. */
  public ConntrackEntryFlyweight flags(int value) {
    buffer.putInt(offset + FLAGS_OFFSET, value);
    return this;
  }

  /** Returns {@code delivery_kind[side]}, a number of {@link ConntrackDelivery}. */
  public int deliveryKind(int side) {
    return buffer.getByte(offset + DELIVERY_KIND_OFFSET + side) & 0xff;
  }

  /** Returns {@code delivery_index[side]}, whose meaning depends on the kind of the delivery. */
  public int deliveryIndex(int side) {
    return buffer.getShort(offset + DELIVERY_INDEX_OFFSET + side * SIZE_OF_SHORT) & 0xffff;
  }

  /** Sets {@code delivery_kind[side]} and {@code delivery_index[side]}. */
  public ConntrackEntryFlyweight delivery(int side, ConntrackDelivery kind, int index) {
    buffer.putByte(offset + DELIVERY_KIND_OFFSET + side, (byte) kind.number());
    buffer.putShort(offset + DELIVERY_INDEX_OFFSET + side * SIZE_OF_SHORT, (short) index);
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

  /** Returns whether the entry keeps an address in the place of counters: it counts nothing. */
  public boolean isRelayed() {
    return (flags() & ConntrackFlag.PROXIED.number()) != 0
        || (flags() & ConntrackFlag.REWRITTEN.number()) != 0
            && (buffer.getByte(offset + REWRITE_OFFSET) & ConntrackRewrite.BOTH.number()) != 0;
  }

  /** Sets {@code rewrite}, bits of {@link ConntrackRewrite}. */
  public ConntrackEntryFlyweight rewrite(int value) {
    buffer.putByte(offset + REWRITE_OFFSET, (byte) value);
    return this;
  }

  /** Sets {@code rewrite_address} to an IPv4 address. */
  public ConntrackEntryFlyweight rewriteAddress(int value) {
    buffer.setMemory(offset + REWRITE_ADDRESS_OFFSET, ADDRESS_BYTES, (byte) 0);
    buffer.putInt(offset + REWRITE_ADDRESS_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Sets {@code rewrite_address} to an IPv6 address. */
  public ConntrackEntryFlyweight rewriteAddress(long high, long low) {
    buffer.putLong(offset + REWRITE_ADDRESS_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + REWRITE_ADDRESS_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns the first eight bytes of {@code rewrite_address}; an IPv4 address is in its first. */
  public long rewriteAddressHigh() {
    return buffer.getLong(offset + REWRITE_ADDRESS_OFFSET, BIG_ENDIAN);
  }

  /** Returns the last eight bytes of {@code rewrite_address}. */
  public long rewriteAddressLow() {
    return buffer.getLong(offset + REWRITE_ADDRESS_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Returns {@code rewrite_port_be} in host byte order. */
  public int rewritePort() {
    return buffer.getShort(offset + REWRITE_PORT_BE_OFFSET, BIG_ENDIAN) & 0xffff;
  }

  /** Sets {@code rewrite_port_be}; 0: the port stays as it is. */
  public ConntrackEntryFlyweight rewritePort(int value) {
    buffer.putShort(offset + REWRITE_PORT_BE_OFFSET, (short) value, BIG_ENDIAN);
    return this;
  }

  /**
   * Sets {@code rewrite_checksum}: the new address minus the old one, as one's complement sums of
   * words in the order of the host.
   */
  public ConntrackEntryFlyweight rewriteChecksum(int value) {
    buffer.putShort(offset + REWRITE_CHECKSUM_OFFSET, (short) value);
    return this;
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

  /** Returns the packets that this side has sent: {@code packets[side]} and the pending ones. */
  public long packets(int side) {
    return buffer.getLong(offset + PACKETS_OFFSET + side * SIZE_OF_LONG)
        + (pending(side) >>> PENDING_SHIFT);
  }

  /** Sets {@code packets[side]}. */
  public ConntrackEntryFlyweight packets(int side, long value) {
    buffer.putLong(offset + PACKETS_OFFSET + side * SIZE_OF_LONG, value);
    return this;
  }

  /** Returns the bytes that this side has sent: {@code bytes[side]} and the pending ones. */
  public long bytes(int side) {
    return buffer.getLong(offset + BYTES_OFFSET + side * SIZE_OF_LONG)
        + (pending(side) & PENDING_BYTES_MASK);
  }

  /** Sets {@code bytes[side]}. */
  public ConntrackEntryFlyweight bytes(int side, long value) {
    buffer.putLong(offset + BYTES_OFFSET + side * SIZE_OF_LONG, value);
    return this;
  }

  /** Returns {@code service_id}; 0: no service. */
  public int serviceId() {
    return buffer.getInt(offset + SERVICE_ID_OFFSET);
  }

  /** Returns {@code service_generation}. */
  public int serviceGeneration() {
    return buffer.getInt(offset + SERVICE_GENERATION_OFFSET);
  }

  /** Sets {@code service_id} and {@code service_generation}. */
  public ConntrackEntryFlyweight service(int id, int generation) {
    buffer.putInt(offset + SERVICE_ID_OFFSET, id);
    buffer.putInt(offset + SERVICE_GENERATION_OFFSET, generation);
    return this;
  }

  private int pending(int side) {
    return buffer.getInt(offset + PENDING_OFFSET + side * SIZE_OF_INT);
  }
}
