package agent.ipam;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Finds free addresses of one prefix: first those that were never allocated, in order, then those
 * that were freed, the oldest first. A freed address is found again only when {@link #REST} others
 * were freed after it, or when no other is left.
 */
final class PrefixCursor {
  /**
   * How many freed addresses wait before the oldest is preferred to one that was never allocated.
   */
  static final int REST = 1024;

  private final Prefix prefix;
  private final Set<IpAddress> freed = new LinkedHashSet<>();
  private IpAddress next;
  private final IpAddress end;
  private boolean exhausted;

  PrefixCursor(Prefix prefix) {
    this.prefix = prefix;
    final int hostBits = prefix.address().bitLength() - prefix.length();
    final boolean ends = hostBits > 1;
    next = ends ? prefix.address().plus(1) : prefix.address();
    end = ends && prefix.isIpv4() ? prefix.last().plus(-1) : prefix.last();
  }

  /**
   * Returns whether the address may be allocated: in the prefix, and neither network nor broadcast.
   */
  boolean isUsable(IpAddress address) {
    return prefix.contains(address)
        && address.compareTo(first()) >= 0
        && address.compareTo(end) <= 0;
  }

  private IpAddress first() {
    return prefix.address().bitLength() - prefix.length() > 1
        ? prefix.address().plus(1)
        : prefix.address();
  }

  /**
   * Returns a free address.
   *
   * @param taken which addresses are leased or reserved
   * @return the address, or null where there is none
   */
  IpAddress find(Predicate<IpAddress> taken) {
    if (freed.size() > REST) {
      final IpAddress rested = oldestFreed(taken);
      if (rested != null) {
        return rested;
      }
    }
    final IpAddress fresh = fresh(taken);
    return fresh != null ? fresh : oldestFreed(taken);
  }

  private IpAddress fresh(Predicate<IpAddress> taken) {
    while (!exhausted) {
      final IpAddress address = next;
      exhausted = address.equals(end);
      next = address.plus(1);
      if (!taken.test(address) && !freed.contains(address)) {
        return address;
      }
    }
    return null;
  }

  private IpAddress oldestFreed(Predicate<IpAddress> taken) {
    final Iterator<IpAddress> oldest = freed.iterator();
    while (oldest.hasNext()) {
      final IpAddress address = oldest.next();
      oldest.remove();
      if (!taken.test(address)) {
        return address;
      }
    }
    return null;
  }

  /** Notes that an address was freed. */
  void freed(IpAddress address) {
    freed.remove(address);
    freed.add(address);
  }
}
