package agent.datapath.spec;

import agent.maps.layout.RedirectKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.agrona.collections.Long2ObjectHashMap;
import org.agrona.collections.LongHashSet;

/**
 * The change of one endpoint's policy map, in two parts: after the first one, {@link #closing()},
 * the map allows exactly what it allowed before and allows after the second one, {@link
 * #opening()}. So no intermediate state allows a packet that neither the old nor the new policy
 * allows, or drops one that both allow; and where the maps of several endpoints change, none begins
 * its second part before all have ended their first. Two changes are equal where they write and
 * delete the same.
 */
public final class PolicyDelta {
  /** No change. */
  public static final PolicyDelta NONE = new PolicyDelta(List.of(), List.of());

  private final List<PolicyEntry> upserts;
  private final List<PolicyEntry> deletes;
  private final Set<RedirectKind> redirects;
  private final PolicyRounds roundsOrNull;

  /**
   * Creates a change of a map whose present entries are not known: it has no first part.
   *
   * @param upserts entries to insert, or whose verdict changes
   * @param deletes entries to remove; only their keys are used
   */
  public PolicyDelta(List<PolicyEntry> upserts, List<PolicyEntry> deletes) {
    this.upserts = List.copyOf(upserts);
    this.deletes = List.copyOf(deletes);
    redirects = PolicyEntry.redirects(upserts);
    roundsOrNull = null;
  }

  private PolicyDelta(PolicyDelta difference, PolicyRounds rounds) {
    upserts = difference.upserts;
    deletes = difference.deletes;
    redirects = difference.redirects;
    roundsOrNull = rounds;
  }

  /**
   * Returns the change from one content of a map to another.
   *
   * @param before the present entries; like the desired ones without an allow below a deny of the
   *     same identity or of any identity
   * @param after the desired entries
   * @return the change, without the entries that are equal in both
   */
  public static PolicyDelta between(Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
    final Long2ObjectHashMap<PolicyEntry> known = new Long2ObjectHashMap<>();
    for (final PolicyEntry entry : before) {
      known.put(PolicyCover.key(entry), entry);
    }
    final LongHashSet wanted = new LongHashSet();
    final List<PolicyEntry> upserts = new ArrayList<>();
    int inserted = 0;
    for (final PolicyEntry entry : after) {
      final long key = PolicyCover.key(entry);
      wanted.add(key);
      final PolicyEntry present = known.get(key);
      if (!entry.equals(present)) {
        upserts.add(entry);
        inserted += present == null ? 1 : 0;
      }
    }
    final List<PolicyEntry> deletes = new ArrayList<>();
    for (final PolicyEntry entry : before) {
      if (!wanted.contains(PolicyCover.key(entry))) {
        deletes.add(entry);
      }
    }
    return between(before, after, new PolicyDelta(upserts, deletes), inserted);
  }

  /**
   * Returns a change with its two parts.
   *
   * @param before the present entries
   * @param after the desired entries
   * @param difference what is to be written and deleted
   * @param inserted how many of the entries to write have a key that the map lacks
   */
  public static PolicyDelta between(
      Collection<PolicyEntry> before,
      Collection<PolicyEntry> after,
      PolicyDelta difference,
      int inserted) {
    if (difference.isEmpty()) {
      return NONE;
    }
    return difference.in(PolicyIntersection.rounds(before, after, difference, inserted));
  }

  /**
   * Returns this change by way of a map that allows nothing, for a map that has no room for the
   * entries that it would hold between its two parts.
   *
   * @param before the present entries
   * @param after the desired entries
   */
  public PolicyDelta throughClosed(Collection<PolicyEntry> before, Collection<PolicyEntry> after) {
    return in(PolicyRounds.throughClosed(before, after));
  }

  private PolicyDelta in(PolicyRounds rounds) {
    return new PolicyDelta(this, rounds);
  }

  /** Returns the entries to insert, or whose verdict changes. */
  public List<PolicyEntry> upserts() {
    return upserts;
  }

  /** Returns the entries to remove; only their keys are used. */
  public List<PolicyEntry> deletes() {
    return deletes;
  }

  /** Returns the kinds of proxies that its entries to insert send flows to. */
  public Set<RedirectKind> redirects() {
    return redirects;
  }

  /** Returns whether it removes nothing, and all entries are those of some identities. */
  public boolean isOnly(Set<Integer> identities) {
    return deletes.isEmpty()
        && upserts.stream().allMatch(entry -> identities.contains(entry.identity()));
  }

  /** Returns the first part, after which the map allows what both policies allow. */
  public PolicyDelta closing() {
    return roundsOrNull == null ? NONE : roundsOrNull.closing();
  }

  /** Returns the second part, which begins with the map as the first one has left it. */
  public PolicyDelta opening() {
    return roundsOrNull == null ? this : roundsOrNull.opening();
  }

  /** Returns the directions in which less may be allowed than before, as bits by their numbers. */
  public int closes() {
    return roundsOrNull == null ? 0 : roundsOrNull.closes();
  }

  /** Returns the directions in which more may be allowed than before, as bits by their numbers. */
  public int opens() {
    return roundsOrNull == null ? 0 : roundsOrNull.opens();
  }

  /**
   * Returns whether the entry that a program has found before the first part and the one that it
   * finds after the second part, one of the identity and one of any identity, may allow together
   * what neither policy allows.
   */
  public boolean isTorn() {
    return roundsOrNull != null && roundsOrNull.isTorn();
  }

  /** Returns by how many entries the map is larger than before while it is changed, at most. */
  public int growth() {
    return roundsOrNull == null ? 0 : roundsOrNull.growth();
  }

  /** Returns whether the change is empty. */
  public boolean isEmpty() {
    return upserts.isEmpty() && deletes.isEmpty();
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof PolicyDelta delta
            && upserts.equals(delta.upserts)
            && deletes.equals(delta.deletes);
  }

  @Override
  public int hashCode() {
    return Objects.hash(upserts, deletes);
  }

  @Override
  public String toString() {
    return "PolicyDelta[upserts=" + upserts + ", deletes=" + deletes + "]";
  }
}
