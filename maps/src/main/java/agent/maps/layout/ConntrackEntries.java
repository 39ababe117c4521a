package agent.maps.layout;

/** What several members of a conntrack entry say together. */
public final class ConntrackEntries {
  private static final int PENDING_BYTES_MASK = (1 << ConntrackPending.SHIFT) - 1;

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
    return entry.packets(side) + (entry.pending(side) >>> ConntrackPending.SHIFT);
  }

  /** Returns the bytes that a side has sent: the counted ones and the pending ones. */
  public static long bytes(ConntrackEntryFlyweight entry, int side) {
    return entry.bytes(side) + (entry.pending(side) & PENDING_BYTES_MASK);
  }
}
