package agent.datapath.manager.prefilter;

import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;

/**
 * Set operations on sorted lists without duplicates, which need less memory than trees for a
 * million prefixes.
 */
final class PrefixLists {
  private PrefixLists() {}

  /** Returns the prefixes sorted and without duplicates. */
  static List<Prefix> sorted(List<Prefix> prefixes) {
    final List<Prefix> copy = new ArrayList<>(prefixes);
    copy.sort(null);
    final List<Prefix> once = new ArrayList<>(copy.size());
    for (int i = 0; i < copy.size(); i++) {
      if (i == 0 || !copy.get(i).equals(copy.get(i - 1))) {
        once.add(copy.get(i));
      }
    }
    return once;
  }

  /** Returns the prefixes that are in both lists. */
  static List<Prefix> intersection(List<Prefix> left, List<Prefix> right) {
    final List<Prefix> both = new ArrayList<>();
    int i = 0;
    for (final Prefix prefix : left) {
      while (i < right.size() && right.get(i).compareTo(prefix) < 0) {
        i++;
      }
      if (i < right.size() && right.get(i).equals(prefix)) {
        both.add(prefix);
      }
    }
    return both;
  }

  /** Returns the prefixes that are in the left list and not in the right one. */
  static List<Prefix> difference(List<Prefix> left, List<Prefix> right) {
    final List<Prefix> only = new ArrayList<>();
    int i = 0;
    for (final Prefix prefix : left) {
      while (i < right.size() && right.get(i).compareTo(prefix) < 0) {
        i++;
      }
      if (i == right.size() || !right.get(i).equals(prefix)) {
        only.add(prefix);
      }
    }
    return only;
  }

  /** Merges two disjoint lists. */
  static List<Prefix> union(List<Prefix> left, List<Prefix> right) {
    final List<Prefix> all = new ArrayList<>(left.size() + right.size());
    int i = 0;
    for (final Prefix prefix : left) {
      while (i < right.size() && right.get(i).compareTo(prefix) < 0) {
        all.add(right.get(i++));
      }
      all.add(prefix);
    }
    all.addAll(right.subList(i, right.size()));
    return all;
  }
}
