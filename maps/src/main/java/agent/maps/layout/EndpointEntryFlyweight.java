package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Value of the endpoints map, indexed by endpoint id. {@code struct endpoint_entry} in {@code
 * maps/endpoint_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ifindex                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            identity                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              mac                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              ...              |            host_mac           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                             flags                             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class EndpointEntryFlyweight {
  public static final int IFINDEX_OFFSET = 0;
  public static final int IDENTITY_OFFSET = IFINDEX_OFFSET + SIZE_OF_INT;
  public static final int MAC_OFFSET = IDENTITY_OFFSET + SIZE_OF_INT;
  public static final int HOST_MAC_OFFSET = MAC_OFFSET + 6;
  public static final int FLAGS_OFFSET = HOST_MAC_OFFSET + 6;
  public static final int LENGTH = FLAGS_OFFSET + SIZE_OF_INT;

  public static final StructSpec STRUCT =
      StructSpec.named("endpoint_entry", LENGTH)
          .scalar("ifindex", IFINDEX_OFFSET, U32)
          .scalar("identity", IDENTITY_OFFSET, U32)
          .bytes("mac", MAC_OFFSET, 6)
          .bytes("host_mac", HOST_MAC_OFFSET, 6)
          .scalar("flags", FLAGS_OFFSET, U32)
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

  /** Returns {@code flags}, bits of {@link EndpointFlag}. */
  public int flags() {
    return buffer.getInt(offset + FLAGS_OFFSET);
  }

  /** Sets {@code flags}, bits of {@link EndpointFlag}. */
  public EndpointEntryFlyweight flags(int value) {
    buffer.putInt(offset + FLAGS_OFFSET, value);
    return this;
  }
}
