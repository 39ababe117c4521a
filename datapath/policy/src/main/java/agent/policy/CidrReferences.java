package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.agrona.collections.Int2ObjectHashMap;

/** The references of rules to identities of CIDRs, and those that were added and removed since. */
final class CidrReferences {
  private final CidrIdentityAllocator allocator;
  private final Map<Prefix, Integer> formerNumbers = new HashMap<>();
  private final Map<Integer, Identity> added = new LinkedHashMap<>();
  private final Map<Integer, Identity> removed = new LinkedHashMap<>();
  private final Int2ObjectHashMap<Identity> present = new Int2ObjectHashMap<>();

  CidrReferences(CidrIdentityAllocator allocator, PolicyState state) {
    this.allocator = allocator;
    for (final PolicyState.CidrIdentity former : state.cidrIdentities()) {
      formerNumbers.put(Prefix.parse("cidrIdentities", former.cidr()), former.identity());
    }
  }

  /** Takes the references of rules, all or none. */
  void acquire(List<Rule> rules) {
    final List<Integer> taken = new ArrayList<>();
    try {
      for (final Rule rule : rules) {
        for (final Prefix prefix : rule.prefixes()) {
          taken.add(acquire(prefix).id());
        }
      }
    } catch (Refusal refusal) {
      taken.forEach(allocator::release);
      throw refusal;
    }
  }

  private Identity acquire(Prefix prefix) {
    final Integer former = formerNumbers.remove(prefix);
    if (former != null) {
      try {
        return allocator.restore(former, prefix);
      } catch (Refusal conflict) {
        // The number belongs to another CIDR by now: a new number serves as well.
        return allocator.acquire(prefix);
      }
    }
    return allocator.acquire(prefix);
  }

  /**
   * Takes references with the numbers of the previous run, before a new prefix can be given one of
   * these numbers.
   *
   * @return the numbers, to be released again
   */
  List<Integer> hold(Collection<Prefix> prefixes, Map<Prefix, Integer> former) {
    final List<Integer> held = new ArrayList<>();
    for (final Prefix prefix : prefixes) {
      final Integer number = former.get(prefix);
      if (number != null && !formerNumbers.containsKey(prefix)) {
        try {
          held.add(allocator.restore(number, prefix).id());
        } catch (Refusal conflict) {
          held.add(allocator.acquire(prefix).id());
        }
      }
    }
    return held;
  }

  /** Gives references back. */
  void release(List<Integer> held) {
    held.forEach(allocator::release);
  }

  void releaseOf(List<Rule> rules) {
    for (final Rule rule : rules) {
      for (final Prefix prefix : rule.prefixes()) {
        allocator.find(prefix).ifPresent(identity -> allocator.release(identity.id()));
      }
    }
  }

  void onAdded(Identity identity) {
    if (identity.cidr().isPresent()) {
      present.put(identity.id(), identity);
      added.put(identity.id(), identity);
    }
  }

  void onRemoved(Identity identity) {
    if (present.remove(identity.id()) != null && added.remove(identity.id()) == null) {
      removed.put(identity.id(), identity);
    }
  }

  List<Identity> present() {
    return present.values().stream().sorted().toList();
  }

  /** Returns what was added since the last call. */
  List<Identity> takeAdded() {
    final List<Identity> list = List.copyOf(added.values());
    added.clear();
    return list;
  }

  /** Returns what was removed since the last call. */
  List<Identity> takeRemoved() {
    final List<Identity> list = List.copyOf(removed.values());
    removed.clear();
    return list;
  }

  /** Returns the numbers to keep over a restart: those of the prefixes of the rules. */
  List<PolicyState.CidrIdentity> numbersOf(List<Rule> rules) {
    final Map<Integer, PolicyState.CidrIdentity> numbers = new TreeMap<>();
    for (final Rule rule : rules) {
      for (final Prefix prefix : rule.prefixes()) {
        allocator
            .find(prefix)
            .filter(Identity::isLocal)
            .ifPresent(
                identity ->
                    numbers.put(
                        identity.id(),
                        new PolicyState.CidrIdentity(prefix.toString(), identity.id())));
      }
    }
    return List.copyOf(numbers.values());
  }
}
