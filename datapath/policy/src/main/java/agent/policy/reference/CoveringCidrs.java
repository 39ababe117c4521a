package agent.policy.reference;

import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The CIDRs that rules name, but for those of all addresses, and how many rules name each. */
final class CoveringCidrs {
  private static final int LENGTHS = 128 + 1;

  private final Map<Prefix, Integer> rules = new HashMap<>();
  private final int[] withLength = new int[LENGTHS];

  /** Adds those of a rule; returns those that no rule named before. */
  List<Prefix> add(Collection<Prefix> cidrs) {
    final List<Prefix> first = new ArrayList<>();
    for (final Prefix cidr : cidrs) {
      if (cidr.length() > 0 && rules.merge(cidr, 1, Integer::sum) == 1) {
        withLength[cidr.length()]++;
        first.add(cidr);
      }
    }
    return first;
  }

  /** Removes those of a rule; returns those that no rule names any more. */
  List<Prefix> remove(Collection<Prefix> cidrs) {
    final List<Prefix> last = new ArrayList<>();
    for (final Prefix cidr : cidrs) {
      if (cidr.length() > 0 && rules.merge(cidr, -1, (a, b) -> a + b == 0 ? null : a + b) == null) {
        withLength[cidr.length()]--;
        last.add(cidr);
      }
    }
    return last;
  }

  /** Returns whether one of them covers an address. */
  boolean cover(Prefix address) {
    for (int length = address.length(); length > 0 && !rules.isEmpty(); length--) {
      if (withLength[length] > 0 && rules.containsKey(Prefix.of(address.address(), length))) {
        return true;
      }
    }
    return false;
  }
}
