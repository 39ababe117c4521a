package agent.maps.layout;

import java.util.Map;

/** What several members of a conntrack entry say together. */
public final class ConntrackEntries {
  private static final int PENDING_SHIFT = 24;
  private static final int PENDING_PACKETS = 16;
  private static final int PENDING_BYTES_MASK = (1 << PENDING_SHIFT) - 1;

  /** {@code enum conntrack_pending}: how {@code pending} has packets and bytes. */
  static final EnumSpec PENDING_ENUM =
      EnumSpec.of(
          "conntrack_pending",
          Map.of(
              "CONNTRACK_PENDING_SHIFT", PENDING_SHIFT,
              "CONNTRACK_PENDING_PACKETS", PENDING_PACKETS));

  private ConntrackEntries() {}

  /** Returns the id of the endpoint on a side; 0: the address is not an endpoint's here. */
  public static int endpointId(ConntrackEntryFlyweight entry, int side) {
    final ConntrackFlag outside =
        side == 0 ? ConntrackFlag.OUTSIDE_LOW : ConntrackFlag.OUTSIDE_HIGH;
    return (entry.flags() & outside.number()) == 0 ? entry.party(side) : 0;
  }

  /** Returns whether the entry has an address in the place of counters: it counts nothing. */
  public static boolean isRelayed(ConntrackEntryFlyweight entry) {
    final int flags = entry.flags();
    return (flags & ConntrackFlag.PROXIED.number()) != 0
        || (flags & ConntrackFlag.REWRITTEN.number()) != 0
            && (entry.rewrite() & ConntrackRewrite.BOTH.number()) != 0;
  }

  /** Returns the packets that a side has sent: the counted ones and the pending ones. */
  public static long packets(ConntrackEntryFlyweight entry, int side) {
    return entry.packets(side) + (entry.pending(side) >>> PENDING_SHIFT);
  }

  /** Returns the bytes that a side has sent: the counted ones and the pending ones. */
  public static long bytes(ConntrackEntryFlyweight entry, int side) {
    return entry.bytes(side) + (entry.pending(side) & PENDING_BYTES_MASK);
  }
}
