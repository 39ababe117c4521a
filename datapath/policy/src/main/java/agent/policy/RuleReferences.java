package agent.policy;

import agent.identity.Identity;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.Collection;
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
  private final CidrReferences cidrs;
  private final PeerNames names;
  private final SelectorCache selectors;

  RuleReferences(CidrReferences cidrs, PeerNames names, SelectorCache selectors) {
    this.cidrs = cidrs;
    this.names = names;
    this.selectors = selectors;
  }

  /**
   * Takes the references of the rules of the previous run.
   *
   * @param former the numbers that addresses of names had, which they keep
   */
  void restore(List<Rule> rules, Map<Prefix, Integer> former) {
    final List<Integer> held = cidrs.hold(names.prefixesOf(rules), former);
    use(rules);
    cidrs.release(held);
  }

  /** Adds an identity; returns the selectors that select it. */
  Set<PeerSelector> add(Identity identity) {
    cidrs.onAdded(identity);
    return selectors.add(identity);
  }

  /** Removes an identity; returns the selectors that selected it. */
  Set<PeerSelector> remove(Identity identity) {
    cidrs.onRemoved(identity);
    return selectors.remove(identity);
  }

  /** Takes the references of rules, all or none. */
  void use(List<Rule> rules) {
    cidrs.acquire(rules);
    try {
      names.acquire(rules);
    } catch (Refusal refusal) {
      cidrs.releaseOf(rules);
      throw refusal;
    }
    rules.forEach(selectors::use);
  }

  /** Ends the use of selectors; identities stay until {@link #release}. */
  void drop(List<Rule> rules) {
    rules.forEach(selectors::drop);
    names.drop(rules);
  }

  /** Releases the identities of rules that are dropped, and of addresses that names lost. */
  void release(List<Rule> rules) {
    names.release();
    cidrs.releaseOf(rules);
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
   * Gives names other addresses; {@link #release} releases those that no name has any more.
   *
   * @param kind the names of this kind
   * @param changed names with all addresses that they have now
   * @return the selectors that select other identities now, each with these identities
   */
  <N, S extends NamedSelector<N>> Map<PeerSelector, Set<Integer>> change(
      NameReferences<N, S> kind, Map<N, ? extends Collection<IpAddress>> changed) {
    final Map<PeerSelector, Set<Integer>> affected = new HashMap<>();
    kind.change(
        changed,
        new NameReferences.Listener<>() {
          @Override
          public void onGained(S selector, int identity) {
            selectors.include(selector, identity);
            note(selector, identity);
          }

          @Override
          public void onLost(S selector, int identity) {
            selectors.exclude(selector, identity);
            note(selector, identity);
          }

          private void note(S selector, int identity) {
            affected.computeIfAbsent(selector, first -> new TreeSet<>()).add(identity);
          }
        });
    return affected;
  }

  /** Returns whether a selector of the rules selects an identity now. */
  boolean selects(PeerSelector selector, Identity identity) {
    return selector instanceof NamedSelector<?> named
        ? names.selects(named, identity)
        : selector.selects(identity);
  }

  /** Returns what outlives a restart. */
  PolicyState stateOf(PolicyRepository rules) {
    return new PolicyState(
        rules.revision(), rules.specs(rules.rules()), cidrs.numbersOf(rules.rules()));
  }
}
