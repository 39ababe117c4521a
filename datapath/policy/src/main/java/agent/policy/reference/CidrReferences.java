package agent.policy.reference;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.policy.repository.PolicyState;
import agent.policy.rule.Rule;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The references of rules to identities of CIDRs. */
public final class CidrReferences {
  private final CidrIdentityAllocator allocator;
  private final Map<Prefix, Integer> formerNumbers = new HashMap<>();

  /** Creates references, with the numbers that CIDRs had in the previous run. */
  public CidrReferences(CidrIdentityAllocator allocator, PolicyState state) {
    this.allocator = allocator;
    for (final PolicyState.CidrIdentity former : state.cidrIdentities()) {
      formerNumbers.put(Prefix.parse("cidrIdentities", former.cidr()), former.identity());
    }
  }

  /** Acquires the reference of a rule; refused where no number is free. */
  public void acquire(Prefix prefix) {
    final Integer former = formerNumbers.remove(prefix);
    if (former != null) {
      try {
        allocator.restore(former, prefix);
        return;
      } catch (Refusal conflict) {
        // The number belongs to another CIDR by now: a new number serves as well.
      }
    }
    allocator.acquire(prefix);
  }

  /** Releases the reference of a rule. */
  public void release(Prefix prefix) {
    allocator.find(prefix).ifPresent(identity -> allocator.release(identity.id()));
  }

  /** Returns the prefixes of rules, each as often as rules have it. */
  public static List<Prefix> prefixesOf(List<Rule> rules) {
    final List<Prefix> all = new ArrayList<>();
    rules.forEach(rule -> all.addAll(rule.prefixes()));
    return all;
  }

  /** Returns the numbers to keep over a restart: those of the prefixes of the rules. */
  public List<PolicyState.CidrIdentity> numbersOf(List<Rule> rules) {
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
