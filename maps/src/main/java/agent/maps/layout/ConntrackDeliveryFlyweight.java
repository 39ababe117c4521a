package agent.maps.layout;

import static agent.maps.layout.StructSpec.Scalar.U32;
import static org.agrona.BitUtil.SIZE_OF_INT;

import org.agrona.MutableDirectBuffer;

/**
 * Output interface and MAC addresses with which a packet is delivered to one side of a flow. {@code
 * struct conntrack_delivery} in {@code maps/conntrack_map.h}.
 *
 * <pre>
 *  0               1               2               3
 *  0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                            ifindex                            |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                        destination_mac                        |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |              ...              |           source_mac          |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                              ...                              |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * </pre>
 */
public final class ConntrackDeliveryFlyweight {
  public static final int IFINDEX_OFFSET = 0;
  public static final int DESTINATION_MAC_OFFSET = IFINDEX_OFFSET + SIZE_OF_INT;
  public static final int SOURCE_MAC_OFFSET = DESTINATION_MAC_OFFSET + 6;
  public static final int LENGTH = SOURCE_MAC_OFFSET + 6;

  public static final StructSpec STRUCT =
      StructSpec.named("conntrack_delivery", LENGTH)
          .scalar("ifindex", IFINDEX_OFFSET, U32)
          .bytes("destination_mac", DESTINATION_MAC_OFFSET, 6)
          .bytes("source_mac", SOURCE_MAC_OFFSET, 6)
          .build();

  private MutableDirectBuffer buffer;
  private int offset;

  /** Wraps {@value #LENGTH} bytes of the buffer from {@code offset}. */
  public ConntrackDeliveryFlyweight wrap(MutableDirectBuffer buffer, int offset) {
    this.buffer = buffer;
    this.offset = offset;
    return this;
  }

  /** Sets every byte to zero, including the reserved ones. */
  public ConntrackDeliveryFlyweight clear() {
    buffer.setMemory(offset, LENGTH, (byte) 0);
    return this;
  }

  /** Returns {@code ifindex}; 0 means delivery through the stack. */
  public int ifindex() {
    return buffer.getInt(offset + IFINDEX_OFFSET);
  }

  /** Sets {@code ifindex}; 0 means delivery through the stack. */
  public ConntrackDeliveryFlyweight ifindex(int value) {
    buffer.putInt(offset + IFINDEX_OFFSET, value);
    return this;
  }

  /** Returns {@code destination_mac}, first octet most significant. */
  public long destinationMac() {
    return MacBytes.get(buffer, offset + DESTINATION_MAC_OFFSET);
  }

  /** Sets {@code destination_mac}, first octet most significant. */
  public ConntrackDeliveryFlyweight destinationMac(long value) {
    MacBytes.put(buffer, offset + DESTINATION_MAC_OFFSET, value);
    return this;
  }

  /** Returns {@code source_mac}, first octet most significant. */
  public long sourceMac() {
    return MacBytes.get(buffer, offset + SOURCE_MAC_OFFSET);
  }

  /** Sets {@code source_mac}, first octet most significant. */
  public ConntrackDeliveryFlyweight sourceMac(long value) {
    MacBytes.put(buffer, offset + SOURCE_MAC_OFFSET, value);
    return this;
  }
}
