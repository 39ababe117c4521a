package agent.datapath.manager.conductor;

import agent.datapath.spec.IpcacheEntry;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;

/** The entries of the node that are wider than one address: few. For the conductor's thread. */
final class NodePrefixes {
  private final List<IpcacheEntry> entries = new ArrayList<>();

  /** Puts an entry; returns false where there is this one already. */
  boolean put(IpcacheEntry entry) {
    if (entries.contains(entry)) {
      return false;
    }
    remove(entry.prefix());
    return entries.add(entry);
  }

  /** Removes the entry of a prefix; returns false where there is none. */
  boolean remove(Prefix prefix) {
    return entries.removeIf(entry -> entry.prefix().equals(prefix));
  }

  /** Returns the entry of the longest prefix that covers a prefix, or null. */
  IpcacheEntry longest(boolean isIpv4, long high, long low, int length) {
    IpcacheEntry longest = null;
    for (int i = 0; i < entries.size(); i++) {
      final IpcacheEntry entry = entries.get(i);
      final Prefix prefix = entry.prefix();
      if (prefix.isIpv4() == isIpv4
          && prefix.length() <= length
          && (longest == null || prefix.length() > longest.prefix().length())
          && covers(prefix, high, low)) {
        longest = entry;
      }
    }
    return longest;
  }

  private static boolean covers(Prefix prefix, long high, long low) {
    final IpAddress address = prefix.address();
    final int length = prefix.length();
    if (length == 0) {
      return true;
    }
    if (prefix.isIpv4()) {
      return (int) (address.low() ^ low) >>> Integer.SIZE - length == 0;
    }
    final long otherHigh = address.high() ^ high;
    return length <= Long.SIZE
        ? otherHigh >>> Long.SIZE - length == 0
        : otherHigh == 0 && (address.low() ^ low) >>> 2 * Long.SIZE - length == 0;
  }
}
