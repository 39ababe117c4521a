package agent.datapath.spec;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.agrona.collections.IntHashSet;
import org.agrona.collections.LongHashSet;

/**
 * Finds the way from one content of a policy map to another by a third one, the intersection, which
 * allows exactly what both allow. It has the denies of both, and of the allows those that the
 * allows of the other one cover and no deny does. An allow of any identity that only allows of
 * single identities cover on the other side is in it for each of these identities.
 *
 * <p>What both contents have is in the intersection, too, so that the work is that of the
 * difference.
 */
final class PolicyIntersection {
  /** How many allows of any identity are looked at for single identities, in all. */
  private static final int NARROWED_MAX = 1 << 16;

  private static final Comparator<PolicyEntry> BY_FIRST =
      Comparator.comparingInt(entry -> PolicyCover.first(PolicyCover.region(entry)));

  private final PolicyCover before;
  private final PolicyCover after;
  private final Part closing = new Part();
  private final Part opening = new Part();
  private final LongHashSet added = new LongHashSet();
  private int narrowed;

  /** What one part writes, and what it is for. */
  private static final class Part {
    final List<PolicyEntry> upserts = new ArrayList<>();
    final List<PolicyEntry> deletes = new ArrayList<>();

    /** Allows that cover something on one side only, by whether they are of any identity. */
    final List<PolicyEntry> ofAny = new ArrayList<>();

    final List<PolicyEntry> ofOne = new ArrayList<>();

    /** Regions whose verdict may change, by whether that of any identity may. */
    final IntHashSet changedOfAny = new IntHashSet();

    final IntHashSet changedOfOne = new IntHashSet();
    int directions;
    int inserted;

    /** Notes an entry that makes a difference to a content which allows anything. */
    void changes(PolicyEntry entry, PolicyCover content) {
      directions |= content.allowsIn() & 1 << entry.direction().number();
      (isOfAny(entry) ? changedOfAny : changedOfOne).add(PolicyCover.region(entry));
    }

    /** Notes an allow of a content that the intersection lacks. */
    void lacks(PolicyEntry allow, PolicyCover content) {
      changes(allow, content);
      (isOfAny(allow) ? ofAny : ofOne).add(allow);
    }

    PolicyDelta delta() {
      return new PolicyDelta(upserts, deletes);
    }
  }

  private PolicyIntersection(Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
    this.before = new PolicyCover(before);
    this.after = new PolicyCover(after);
  }

  /** Returns the two parts of a difference, as {@link PolicyDelta#between}. */
  static PolicyRounds rounds(
      Collection<PolicyEntry> before,
      Collection<PolicyEntry> after,
      PolicyDelta difference,
      int inserted) {
    final boolean closes = closes(difference);
    if (closes && opens(difference)) {
      return new PolicyIntersection(before, after).rounds(difference);
    }
    final int directions = directionsOf(difference);
    return new PolicyRounds(
        closes ? difference : PolicyDelta.NONE,
        closes ? PolicyDelta.NONE : difference,
        closes ? directions : 0,
        closes ? 0 : directions,
        false,
        inserted);
  }

  private static boolean isOfAny(PolicyEntry entry) {
    return entry.identity() == PolicyCover.ANY_IDENTITY;
  }

  private static boolean has(boolean isDeny, Collection<PolicyEntry> entries) {
    for (final PolicyEntry entry : entries) {
      if (entry.isDeny() == isDeny) {
        return true;
      }
    }
    return false;
  }

  private static boolean closes(PolicyDelta difference) {
    return has(true, difference.upserts()) || has(false, difference.deletes());
  }

  private static boolean opens(PolicyDelta difference) {
    return has(true, difference.deletes()) || has(false, difference.upserts());
  }

  private static int directionsOf(PolicyDelta difference) {
    int directions = 0;
    for (final PolicyEntry entry : difference.upserts()) {
      directions |= 1 << entry.direction().number();
    }
    for (final PolicyEntry entry : difference.deletes()) {
      directions |= 1 << entry.direction().number();
    }
    return directions;
  }

  private PolicyRounds rounds(PolicyDelta difference) {
    for (final PolicyEntry entry : difference.upserts()) {
      if (entry.isDeny()) {
        insertDeny(entry);
      } else {
        insertAllow(entry);
      }
    }
    for (final PolicyEntry entry : difference.deletes()) {
      if (entry.isDeny()) {
        opening.deletes.add(entry);
        opening.changes(entry, after);
      } else {
        deleteAllow(entry);
      }
    }
    narrow(closing.ofAny, opening.ofOne);
    narrow(opening.ofAny, closing.ofOne);
    return new PolicyRounds(
        closing.delta(),
        opening.delta(),
        closing.directions,
        opening.directions,
        overlap(closing.changedOfOne, opening.changedOfAny)
            || overlap(closing.changedOfAny, opening.changedOfOne),
        growth());
  }

  private int growth() {
    if (narrowed > NARROWED_MAX) {
      return PolicyRounds.UNBOUNDED;
    }
    final int afterClosing = closing.inserted - closing.deletes.size();
    return Math.max(closing.inserted, afterClosing + opening.inserted);
  }

  private void insertDeny(PolicyEntry deny) {
    final boolean replacesAllow = before.isAllow(PolicyCover.key(deny));
    closing.upserts.add(deny);
    closing.changes(deny, before);
    closing.inserted += replacesAllow ? 0 : 1;
  }

  private void insertAllow(PolicyEntry allow) {
    final long key = PolicyCover.key(allow);
    if (before.isAllow(key)) {
      opening.upserts.add(allow); // both allow; what else the verdict says is the new policy's
    } else if (isIn(allow, before)) {
      closing.upserts.add(allow);
      closing.inserted++;
    } else {
      opening.upserts.add(allow);
      opening.lacks(allow, after);
      opening.inserted += before.isDeny(key) ? 0 : 1;
    }
  }

  private void deleteAllow(PolicyEntry allow) {
    if (isIn(allow, after)) {
      opening.deletes.add(allow);
    } else {
      closing.deletes.add(allow);
      closing.lacks(allow, before);
    }
  }

  /** Returns whether an allow is in the intersection with the other content. */
  private boolean isIn(PolicyEntry allow, PolicyCover other) {
    final int region = PolicyCover.region(allow);
    return other.allows(allow.identity(), region) && !isDenied(allow.identity(), region);
  }

  private boolean isDenied(int identity, int region) {
    return before.denies(identity, region) || after.denies(identity, region);
  }

  /**
   * Adds allows of any identity, which one side has, for the identities that may do more on the
   * other side.
   */
  private void narrow(List<PolicyEntry> ofAny, List<PolicyEntry> ofOne) {
    ofAny.sort(BY_FIRST);
    for (final PolicyEntry wide : ofOne) {
      final int region = PolicyCover.region(wide);
      int next = firstFrom(ofAny, PolicyCover.first(region));
      for (; next < ofAny.size() && narrowed <= NARROWED_MAX; next++) {
        final PolicyEntry narrow = ofAny.get(next);
        final int part = PolicyCover.region(narrow);
        if (PolicyCover.first(part) > PolicyCover.last(region)) {
          break;
        }
        narrowed++;
        if (PolicyCover.length(part) > PolicyCover.length(region)) {
          addFor(wide.identity(), narrow);
        }
      }
    }
  }

  private static int firstFrom(List<PolicyEntry> ofAny, int first) {
    int low = 0;
    int high = ofAny.size();
    while (low < high) {
      final int middle = low + high >>> 1;
      if (PolicyCover.first(PolicyCover.region(ofAny.get(middle))) < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private void addFor(int identity, PolicyEntry ofAny) {
    final int region = PolicyCover.region(ofAny);
    final long key = PolicyCover.key(identity, region);
    final boolean isKnown = before.isAllow(key) || after.isAllow(key);
    if (isKnown || isDenied(identity, region) || !added.add(key)) {
      return;
    }
    final PolicyEntry entry =
        new PolicyEntry(
            identity,
            ofAny.direction(),
            ofAny.protocol(),
            ofAny.port(),
            ofAny.prefixLength(),
            ofAny.verdict());
    closing.upserts.add(entry);
    closing.inserted++;
    opening.deletes.add(entry);
  }

  private static boolean overlap(IntHashSet some, IntHashSet others) {
    return isBelow(some, others) || isBelow(others, some);
  }

  /** Returns whether a region is, or is part of, one of the others. */
  private static boolean isBelow(IntHashSet regions, IntHashSet others) {
    if (regions.isEmpty() || others.isEmpty()) {
      return false;
    }
    for (final int region : regions) {
      for (int wider = region; wider != PolicyCover.NONE; wider = PolicyCover.parent(wider)) {
        if (others.contains(wider)) {
          return true;
        }
      }
    }
    return false;
  }
}
