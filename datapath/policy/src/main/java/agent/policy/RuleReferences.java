package agent.policy;

import agent.conductor.StepList;
import agent.identity.Identity;
import agent.policy.reference.CidrReferences;
import agent.policy.reference.NameReferences;
import agent.policy.reference.NamedAddresses;
import agent.policy.reference.OutsidePrefixes;
import agent.policy.reference.PeerNames;
import agent.policy.reference.SelectorCache;
import agent.policy.repository.PolicyRepository;
import agent.policy.repository.PolicyState;
import agent.policy.rule.FqdnSelector;
import agent.policy.rule.NamedSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Rule;
import agent.policy.rule.ServiceSelector;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What rules refer to: the identities of CIDRs and of the addresses of names, and selectors with
 * the identities that they select.
 */
final class RuleReferences {
  /** So many addresses are given the identity of the present rules at a time. */
  private static final int MOST_SETTLED = 1024;

  private final CidrReferences cidrs;
  private final NamedAddresses addresses;
  private final OutsidePrefixes outside;
  private final PeerNames names;
  private final SelectorCache selectors;
  private Map<PeerSelector, Set<Integer>> affected = new HashMap<>();

  RuleReferences(PolicyContext context, PolicyState state, SelectorCache selectors) {
    this.selectors = selectors;
    cidrs = new CidrReferences(context.cidrIdentities(), state);
    addresses = new NamedAddresses(context.cidrIdentities(), new Listener());
    outside = new OutsidePrefixes(addresses);
    names = new PeerNames(addresses, context.names(), context.services());
  }

  private final class Listener implements NamedAddresses.Listener {
    @Override
    public void onGained(NamedSelector<?> selector, int identity) {
      if (selectors.include(selector, identity)) {
        note(selector, identity);
      }
    }

    @Override
    public void onLost(NamedSelector<?> selector, int identity) {
      if (selectors.exclude(selector, identity)) {
        note(selector, identity);
      }
    }

    private void note(PeerSelector selector, int identity) {
      affected.computeIfAbsent(selector, first -> new TreeSet<>()).add(identity);
    }

    @Override
    public void onMoving(Prefix address) {
      outside.touch(address);
    }
  }

  /** Adds an identity; returns the selectors that select it. */
  Set<PeerSelector> add(Identity identity) {
    outside.onAdded(identity);
    return selectors.add(identity);
  }

  /** Removes an identity; returns the selectors that selected it. */
  Set<PeerSelector> remove(Identity identity) {
    outside.onRemoved(identity);
    return selectors.remove(identity);
  }

  /** The references that the new rules of a change take in steps, and may give back in steps. */
  final class Taking {
    private final List<Rule> rules;
    private final List<Prefix> taken = new ArrayList<>();
    private boolean hasNames;

    private Taking(List<Rule> rules) {
      this.rules = rules;
    }

    /**
     * Adds the steps that take all references; where one is refused, those before it stay taken.
     *
     * @param former the numbers that addresses of names had in the previous run, which they keep
     */
    void addTo(StepList steps, Map<Prefix, Integer> former) {
      steps.each(() -> CidrReferences.prefixesOf(rules), this::take);
      steps.then(
          () -> {
            names.acquire(rules, former);
            hasNames = true;
          });
      steps.each(() -> SelectorCache.Use.of(rules), use -> selectors.use(use, names::identitiesOf));
    }

    private void take(Prefix prefix) {
      cidrs.acquire(prefix);
      taken.add(prefix);
    }

    /** Adds the steps that give back what was taken. */
    void takeBack(StepList steps) {
      if (hasNames) {
        steps.then(addresses::revert);
        drop(rules, steps);
        steps.then(addresses::release);
      }
      steps.each(() -> taken, cidrs::release);
    }
  }

  /** Returns what takes the references of rules. */
  Taking taking(List<Rule> rules) {
    return new Taking(rules);
  }

  /** Adds the steps that end the use of rules; identities stay until {@link #release}. */
  void drop(List<Rule> rules, StepList steps) {
    steps.each(() -> SelectorCache.Use.of(rules), selectors::drop);
    steps.then(() -> names.drop(rules));
  }

  /**
   * Adds the steps that release the identities of rules that are dropped, and of addresses that
   * names lost.
   */
  void release(List<Rule> rules, StepList steps) {
    steps.then(addresses::release);
    steps.each(() -> CidrReferences.prefixesOf(rules), cidrs::release);
  }

  /** Releases the identities of addresses that names lost. */
  void release() {
    addresses.release();
  }

  /** Returns whether {@link #settle} has something to do. */
  boolean isOutdated() {
    return addresses.isOutdated();
  }

  /**
   * Sets for some addresses of names the identity that the present rules alone lead to; returns
   * whether others follow. Where an identity is missing, they keep those that they have.
   */
  boolean settle() {
    try {
      addresses.settle(MOST_SETTLED);
      return isOutdated();
    } catch (Refusal exhausted) {
      return false;
    }
  }

  /** Returns what prefixes outside have which identities. */
  OutsidePrefixes outside() {
    return outside;
  }

  /** Returns the names of DNS that rules select. */
  NameReferences<String, FqdnSelector> dns() {
    return names.dns();
  }

  /** Returns the names of services that rules select. */
  NameReferences<ServiceName, ServiceSelector> services() {
    return names.services();
  }

  /**
   * Returns the selectors by names that select other identities than at the last call, each with
   * these identities.
   */
  Map<PeerSelector, Set<Integer>> takeAffected() {
    final Map<PeerSelector, Set<Integer>> taken = affected;
    affected = new HashMap<>();
    return taken;
  }

  /** Returns whether a selector of the rules selects an identity now. */
  boolean selects(PeerSelector selector, Identity identity) {
    return selector instanceof NamedSelector<?> named
        ? names.selects(named, identity)
        : selector.selects(identity);
  }

  /** Returns what outlives a restart; for any thread while the rules have their references. */
  PolicyState stateOf(PolicyRepository rules) {
    return new PolicyState(
        rules.revision(), rules.specs(rules.rules()), cidrs.numbersOf(rules.rules()));
  }
}
