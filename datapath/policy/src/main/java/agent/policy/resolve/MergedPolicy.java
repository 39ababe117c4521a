package agent.policy.resolve;

import agent.datapath.spec.PolicyEntry;
import agent.maps.layout.PolicyDirection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.agrona.collections.IntHashSet;

/**
 * A policy in which what it says of some peers is replaced. The entries of a peer depend on the
 * rules, on its own selection and on the entries of any peer alone, so that a change of a few peers
 * of thousands is resolved for these few.
 */
public final class MergedPolicy {
  private static final int ANY_IDENTITY = 0;
  private static final PolicyDirection[] DIRECTIONS = PolicyDirection.values();

  /** Of more changed peers, the lists are written anew. */
  private static final int MOST_SPLICED = 64;

  private MergedPolicy() {}

  /**
   * Merges two policies by the same rules.
   *
   * @param before a whole policy
   * @param part the same, resolved as if selectors selected none but the changed peers, and without
   *     the lines of its summaries
   * @param changed the identities of these peers
   */
  public static ResolvedPolicy of(ResolvedPolicy before, ResolvedPolicy part, IntHashSet changed) {
    final List<RequestSection> requests = new ArrayList<>();
    for (int i = 0; i < part.requests().size(); i++) {
      requests.add(before.requests().get(i).with(part.requests().get(i), changed));
    }
    return new ResolvedPolicy(
        part.revision(),
        part.identity(),
        entries(before.entries(), part.entries(), changed),
        summary(before.ingress(), part.ingress(), changed),
        summary(before.egress(), part.egress(), changed),
        part.selectors(),
        part.portNames(),
        List.copyOf(requests));
  }

  /**
   * Returns the entries of some peers and those of any peer, which are all that a change of these
   * peers depends on.
   */
  public static List<PolicyEntry> entriesOf(ResolvedPolicy policy, IntHashSet changed) {
    final List<PolicyEntry> found = new ArrayList<>();
    if (changed.size() <= MOST_SPLICED) {
      final int[] peers = inOrder(changed);
      for (final PolicyDirection direction : DIRECTIONS) {
        if (!changed.contains(ANY_IDENTITY)) {
          found.addAll(rangeOf(policy.entries(), direction, ANY_IDENTITY));
        }
        for (final int peer : peers) {
          found.addAll(rangeOf(policy.entries(), direction, peer));
        }
      }
      return found;
    }
    for (final PolicyEntry entry : policy.entries()) {
      if (entry.identity() == ANY_IDENTITY || changed.contains(entry.identity())) {
        found.add(entry);
      }
    }
    return found;
  }

  private static int[] inOrder(IntHashSet peers) {
    final int[] sorted = new int[peers.size()];
    final IntHashSet.IntIterator each = peers.iterator();
    for (int i = 0; each.hasNext(); i++) {
      sorted[i] = each.nextValue();
    }
    Arrays.sort(sorted);
    return sorted;
  }

  private static List<PolicyEntry> rangeOf(
      List<PolicyEntry> entries, PolicyDirection direction, int identity) {
    return entries.subList(
        MapLookup.first(entries, direction, identity, false),
        MapLookup.first(entries, direction, identity, true));
  }

  /** Both lists are in order, and so is the result. */
  private static List<PolicyEntry> entries(
      List<PolicyEntry> before, List<PolicyEntry> part, IntHashSet changed) {
    if (changed.size() <= MOST_SPLICED) {
      return spliced(before, part, changed);
    }
    final List<PolicyEntry> merged = new ArrayList<>(before.size() + part.size());
    int next = nextOf(part, 0, changed);
    for (int i = 0; i < before.size(); i++) {
      final PolicyEntry entry = before.get(i);
      if (!changed.contains(entry.identity())) {
        while (next < part.size() && part.get(next).compareTo(entry) < 0) {
          merged.add(part.get(next));
          next = nextOf(part, next + 1, changed);
        }
        merged.add(entry);
      }
    }
    while (next < part.size()) {
      merged.add(part.get(next));
      next = nextOf(part, next + 1, changed);
    }
    return List.copyOf(merged);
  }

  private static List<PolicyEntry> spliced(
      List<PolicyEntry> before, List<PolicyEntry> part, IntHashSet changed) {
    BlockList<PolicyEntry> spliced = BlockList.of(before);
    for (final int peer : inOrder(changed)) {
      for (final PolicyDirection direction : DIRECTIONS) {
        spliced =
            spliced.replaced(
                MapLookup.first(spliced, direction, peer, false),
                MapLookup.first(spliced, direction, peer, true),
                rangeOf(part, direction, peer));
      }
    }
    return spliced;
  }

  /** Returns the index of the next entry of a changed peer; what is of others is the same. */
  private static int nextOf(List<PolicyEntry> part, int from, IntHashSet changed) {
    int next = from;
    while (next < part.size() && !changed.contains(part.get(next).identity())) {
      next++;
    }
    return next;
  }

  private static DirectionSummary summary(
      DirectionSummary before, DirectionSummary part, IntHashSet changed) {
    return new DirectionSummary(
        part.enforced(),
        part.anyAllowed(),
        part.anyDenied(),
        identities(before.allowed(), part.allowed(), changed),
        identities(before.denied(), part.denied(), changed),
        before.l4(),
        before.cidr());
  }

  private static List<Integer> identities(
      List<Integer> before, List<Integer> part, IntHashSet changed) {
    if (changed.size() <= MOST_SPLICED) {
      return splicedIdentities(before, part, changed);
    }
    final List<Integer> merged = new ArrayList<>(before.size() + part.size());
    for (final Integer identity : before) {
      if (!changed.contains(identity.intValue())) {
        merged.add(identity);
      }
    }
    for (final Integer identity : part) {
      if (changed.contains(identity.intValue())) {
        merged.add(identity);
      }
    }
    merged.sort(null); // of two runs in order
    return List.copyOf(merged);
  }

  private static List<Integer> splicedIdentities(
      List<Integer> before, List<Integer> part, IntHashSet changed) {
    BlockList<Integer> spliced = BlockList.of(before);
    for (final Integer peer : changed) {
      final int found = Collections.binarySearch(spliced, peer);
      final boolean isListed = Collections.binarySearch(part, peer) >= 0;
      if (found >= 0 && !isListed) {
        spliced = spliced.replaced(found, found + 1, List.of());
      } else if (found < 0 && isListed) {
        spliced = spliced.replaced(-found - 1, -found - 1, List.of(peer));
      }
    }
    return spliced;
  }
}
