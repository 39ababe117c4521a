package agent.datapath.programs.load;

import static java.nio.ByteOrder.BIG_ENDIAN;

import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackDelivery;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.GenerationLayout;
import agent.types.IpAddress;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

/**
 * The conntrack entries of releases 0.1.0 to 0.3.0, and their conversion. The key was the same but
 * for the scope, a reserved byte of 0, and for the ports of an ICMP echo, which were both the
 * identifier.
 *
 * <pre>
 *  0 expires_ns (8)      8 generation[2] (4 each)  16 endpoint_id[2] (2 each)  20 flags (2)
 * 22 drop_reason (1)    24 delivery[2] (16 each)   56 identity[2] (4 each)
 * 64 packets[2] (8)     80 bytes[2] (8 each)       96 end
 * </pre>
 */
final class ConntrackLayout1 {
  static final int LENGTH = 96;

  private static final int GENERATION = 8;
  private static final int ENDPOINT_ID = 16;
  private static final int FLAGS = 20;
  private static final int DROP_REASON = 22;
  private static final int IDENTITY = 56;
  private static final int PACKETS = 64;
  private static final int BYTES = 80;

  /** In a generation of that release; the bits below count changes. */
  private static final int OWNER_SHIFT = 24;

  /** No sum of two generations has this lower half, so that policy decides on the flow again. */
  private static final long STALE = (1L << GenerationLayout.OWNER_SHIFT) - 1;

  private static final int ICMP = 1;
  private static final int ICMP6 = 58;
  private static final int ICMP_PORTS_IPV4 = Conntrack4KeyFlyweight.LOW_PORT_BE_OFFSET;
  private static final int ICMP_PORTS_IPV6 = Conntrack6KeyFlyweight.LOW_PORT_BE_OFFSET;

  private final OwnerTable before;
  private final OwnerTable now;
  private final ConntrackEntryFlyweight entry = new ConntrackEntryFlyweight();

  /** Generations, which tell whether an id has had another owner since. */
  @FunctionalInterface
  interface OwnerTable {
    /** Returns a generation as its layout has it; negative where it is not known. */
    long generation(int index);
  }

  /**
   * Creates a conversion.
   *
   * @param before the generations of that release
   * @param now the present ones
   */
  ConntrackLayout1(OwnerTable before, OwnerTable now) {
    this.before = before;
    this.now = now;
  }

  /**
   * Converts an entry. It keeps its direction, state and counters; policy decides on it again at
   * its next packet.
   *
   * @return false where an endpoint of the flow was removed before, so that nothing is left to keep
   */
  boolean convert(
      DirectBuffer key,
      DirectBuffer value,
      MutableDirectBuffer newKey,
      int keyOffset,
      MutableDirectBuffer newValue,
      int valueOffset) {
    final int flags = value.getShort(FLAGS) & 0xffff;
    final boolean isIpv4 = key.capacity() == Conntrack4KeyFlyweight.LENGTH;
    int newFlags = flags;
    long owners = 0;
    entry.wrap(newValue, valueOffset).clear();
    for (int side = 0; side < 2; side++) {
      final int id = value.getShort(ENDPOINT_ID + side * Short.BYTES) & 0xffff;
      final int generation = value.getInt(GENERATION + side * Integer.BYTES);
      if (id != 0 && before.generation(id) >>> OWNER_SHIFT != generation >>> OWNER_SHIFT) {
        return false;
      }
      final int shard = id == 0 ? Shards.of(address(key, isIpv4, side)) : 0;
      owners += now.generation(id == 0 ? GenerationLayout.OUTSIDE + shard : id) >>> Integer.SIZE;
      if (id == 0) {
        newFlags |= (side == 0 ? ConntrackFlag.OUTSIDE_LOW : ConntrackFlag.OUTSIDE_HIGH).number();
        entry.party(side, shard);
      } else {
        entry
            .party(side, id)
            .deliveryKind(side, ConntrackDelivery.TO_PEER.number())
            .deliveryIndex(side, id);
      }
      entry
          .identity(side, value.getInt(IDENTITY + side * Integer.BYTES))
          .packets(side, value.getLong(PACKETS + side * Long.BYTES))
          .bytes(side, value.getLong(BYTES + side * Long.BYTES));
    }
    entry
        .expiresNs(value.getLong(0))
        .generation(owners << GenerationLayout.OWNER_SHIFT | STALE)
        .flags(newFlags)
        .dropReason(value.getByte(DROP_REASON) & 0xff);
    newKey.putBytes(keyOffset, key, 0, key.capacity());
    convertEcho(newKey, keyOffset, isIpv4, flags);
    return true;
  }

  private static IpAddress address(DirectBuffer key, boolean isIpv4, int side) {
    if (isIpv4) {
      return IpAddress.ofIpv4(key.getInt(side * Integer.BYTES, BIG_ENDIAN));
    }
    final int at = side * 2 * Long.BYTES;
    return IpAddress.ofIpv6(key.getLong(at, BIG_ENDIAN), key.getLong(at + Long.BYTES, BIG_ENDIAN));
  }

  /** The identifier of an echo stays the port of the side that asks alone. */
  private static void convertEcho(MutableDirectBuffer key, int offset, boolean isIpv4, int flags) {
    final int ports = offset + (isIpv4 ? ICMP_PORTS_IPV4 : ICMP_PORTS_IPV6);
    final int protocol = key.getByte(ports + 2 * Short.BYTES) & 0xff;
    if (protocol == (isIpv4 ? ICMP : ICMP6)) {
      final boolean highAsked = (flags & ConntrackFlag.INITIATOR_HIGH.number()) != 0;
      key.putShort(ports + (highAsked ? 0 : Short.BYTES), (short) 0);
    }
  }
}
