package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static agent.maps.layout.StructSpec.Scalar.U8;
import static java.nio.ByteOrder.BIG_ENDIAN;
import static org.agrona.BitUtil.SIZE_OF_BYTE;
import static org.agrona.BitUtil.SIZE_OF_INT;
import static org.agrona.BitUtil.SIZE_OF_LONG;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the endpoints map, indexed by endpoint id: all values of an endpoint that the shared
 * programs read. {@code struct endpoint_entry} in {@code maps/endpoint_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ifindex                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                          endpoint_id                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            options                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |    has_ipv4   |    has_ipv6   |  aggregation  |    reserved   |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              mac                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              ...              |            host_mac           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ipv4                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ipv6                             |
 * |                           (16 bytes)                          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            identity                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           policy_id                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             spare                             |
 * |                           (8 bytes)                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class EndpointEntryFlyweight {
  public static final int IFINDEX_OFFSET = 0;
  public static final int ENDPOINT_ID_OFFSET = IFINDEX_OFFSET + SIZE_OF_INT;
  public static final int OPTIONS_OFFSET = ENDPOINT_ID_OFFSET + SIZE_OF_INT;
  public static final int HAS_IPV4_OFFSET = OPTIONS_OFFSET + SIZE_OF_INT;
  public static final int HAS_IPV6_OFFSET = HAS_IPV4_OFFSET + SIZE_OF_BYTE;
  public static final int AGGREGATION_OFFSET = HAS_IPV6_OFFSET + SIZE_OF_BYTE;
  public static final int RESERVED_OFFSET = AGGREGATION_OFFSET + SIZE_OF_BYTE;
  public static final int MAC_OFFSET = RESERVED_OFFSET + SIZE_OF_BYTE;
  public static final int HOST_MAC_OFFSET = MAC_OFFSET + 6;
  public static final int IPV4_OFFSET = HOST_MAC_OFFSET + 6;
  public static final int IPV6_OFFSET = IPV4_OFFSET + 4;
  public static final int IDENTITY_OFFSET = IPV6_OFFSET + 16;
  public static final int POLICY_ID_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int SPARE_OFFSET = POLICY_ID_OFFSET + SIZE_OF_INT;
  public static final int LENGTH = SPARE_OFFSET + 8;

  public static final StructSpec STRUCT =
      StructSpec.named("endpoint_entry", LENGTH)
          .scalar("ifindex", IFINDEX_OFFSET, U32)
          .scalar("endpoint_id", ENDPOINT_ID_OFFSET, U32)
          .scalar("options", OPTIONS_OFFSET, U32)
          .scalar("has_ipv4", HAS_IPV4_OFFSET, U8)
          .scalar("has_ipv6", HAS_IPV6_OFFSET, U8)
          .scalar("aggregation", AGGREGATION_OFFSET, U8)
          .scalar("reserved", RESERVED_OFFSET, U8)
          .bytes("mac", MAC_OFFSET, 6)
          .bytes("host_mac", HOST_MAC_OFFSET, 6)
          .bytes("ipv4", IPV4_OFFSET, 4)
          .bytes("ipv6", IPV6_OFFSET, 16)
          .scalar("identity", IDENTITY_OFFSET, U32)
          .scalar("policy_id", POLICY_ID_OFFSET, U32)
          .bytes("spare", SPARE_OFFSET, 8)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public EndpointEntryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public EndpointEntryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /**
   * Returns {@code ifindex}, the interface on the host side of the veth; 0 means that no endpoint
   * has this id.
   */
  public int ifindex() {
    return buffer.getInt(offset + IFINDEX_OFFSET);
  }

  /**
   * Sets {@code ifindex}, the interface on the host side of the veth; 0 means that no endpoint has
   * this id.
   */
  public EndpointEntryFlyweight ifindex(int value) {
    buffer.putInt(offset + IFINDEX_OFFSET, value);
    return this;
  }

  /** Returns {@code identity}. */
  public int identity() {
    return buffer.getInt(offset + IDENTITY_OFFSET);
  }

  /** Sets {@code identity}. */
  public EndpointEntryFlyweight identity(int value) {
    buffer.putInt(offset + IDENTITY_OFFSET, value);
    return this;
  }

  /**
   * Returns {@code mac}, the MAC address of the workload's interface, first octet most significant.
   */
  public long mac() {
    return MacBytes.get(buffer, offset + MAC_OFFSET);
  }

  /**
   * Sets {@code mac}, the MAC address of the workload's interface, first octet most significant.
   */
  public EndpointEntryFlyweight mac(long value) {
    MacBytes.put(buffer, offset + MAC_OFFSET, value);
    return this;
  }

  /**
   * Returns {@code host_mac}, the MAC address of the host side of the veth, first octet most
   * significant.
   */
  public long hostMac() {
    return MacBytes.get(buffer, offset + HOST_MAC_OFFSET);
  }

  /**
   * Sets {@code host_mac}, the MAC address of the host side of the veth, first octet most
   * significant.
   */
  public EndpointEntryFlyweight hostMac(long value) {
    MacBytes.put(buffer, offset + HOST_MAC_OFFSET, value);
    return this;
  }

  /** Returns {@code endpoint_id}. */
  public int endpointId() {
    return buffer.getInt(offset + ENDPOINT_ID_OFFSET);
  }

  /** Sets {@code endpoint_id}. */
  public EndpointEntryFlyweight endpointId(int value) {
    buffer.putInt(offset + ENDPOINT_ID_OFFSET, value);
    return this;
  }

  /** Returns {@code options}, bits of {@link EndpointOption}. */
  public int options() {
    return buffer.getInt(offset + OPTIONS_OFFSET);
  }

  /** Sets {@code options}, bits of {@link EndpointOption}. */
  public EndpointEntryFlyweight options(int value) {
    buffer.putInt(offset + OPTIONS_OFFSET, value);
    return this;
  }

  /** Returns {@code has_ipv4}. */
  public boolean hasIpv4() {
    return buffer.getByte(offset + HAS_IPV4_OFFSET) != 0;
  }

  /** Returns {@code has_ipv6}. */
  public boolean hasIpv6() {
    return buffer.getByte(offset + HAS_IPV6_OFFSET) != 0;
  }

  /** Returns {@code aggregation}, a number of {@link AggregationLevel}. */
  public int aggregation() {
    return buffer.getByte(offset + AGGREGATION_OFFSET) & 0xff;
  }

  /** Sets {@code aggregation}, a number of {@link AggregationLevel}. */
  public EndpointEntryFlyweight aggregation(int value) {
    buffer.putByte(offset + AGGREGATION_OFFSET, (byte) value);
    return this;
  }

  /** Returns {@code ipv4} as a number, first octet most significant. */
  public int ipv4() {
    return buffer.getInt(offset + IPV4_OFFSET, BIG_ENDIAN);
  }

  /** Sets {@code ipv4} as a number, first octet most significant, and {@code has_ipv4}. */
  public EndpointEntryFlyweight ipv4(int value) {
    buffer.putByte(offset + HAS_IPV4_OFFSET, (byte) 1);
    buffer.putInt(offset + IPV4_OFFSET, value, BIG_ENDIAN);
    return this;
  }

  /** Returns the upper 64 bits of {@code ipv6}. */
  public long ipv6High() {
    return buffer.getLong(offset + IPV6_OFFSET, BIG_ENDIAN);
  }

  /** Returns the lower 64 bits of {@code ipv6}. */
  public long ipv6Low() {
    return buffer.getLong(offset + IPV6_OFFSET + SIZE_OF_LONG, BIG_ENDIAN);
  }

  /** Sets {@code ipv6} and {@code has_ipv6}. */
  public EndpointEntryFlyweight ipv6(long high, long low) {
    buffer.putByte(offset + HAS_IPV6_OFFSET, (byte) 1);
    buffer.putLong(offset + IPV6_OFFSET, high, BIG_ENDIAN);
    buffer.putLong(offset + IPV6_OFFSET + SIZE_OF_LONG, low, BIG_ENDIAN);
    return this;
  }

  /** Returns {@code policy_id}, the index of the endpoint's policy map in {@code policies}. */
  public int policyId() {
    return buffer.getInt(offset + POLICY_ID_OFFSET);
  }

  /** Sets {@code policy_id}, the index of the endpoint's policy map in {@code policies}. */
  public EndpointEntryFlyweight policyId(int value) {
    buffer.putInt(offset + POLICY_ID_OFFSET, value);
    return this;
  }
}
