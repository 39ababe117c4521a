package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The references of rules to identities of CIDRs. */
final class CidrReferences {
  private final CidrIdentityAllocator allocator;
  private final Map<Prefix, Integer> formerNumbers = new HashMap<>();

  CidrReferences(CidrIdentityAllocator allocator, PolicyState state) {
    this.allocator = allocator;
    for (final PolicyState.CidrIdentity former : state.cidrIdentities()) {
      formerNumbers.put(Prefix.parse("cidrIdentities", former.cidr()), former.identity());
    }
  }

  /** Acquires the references of rules, all or none. */
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

  /** Releases the references of rules. */
  void releaseOf(List<Rule> rules) {
    for (final Rule rule : rules) {
      for (final Prefix prefix : rule.prefixes()) {
        allocator.find(prefix).ifPresent(identity -> allocator.release(identity.id()));
      }
    }
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
