package agent.policy.reference;

import agent.identity.Identity;
import agent.policy.resolve.PolicyResolver;
import agent.policy.rule.CidrSelector;
import agent.policy.rule.NamedSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Rule;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.agrona.collections.Hashing;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.collections.IntHashSet;

/**
 * The selectors of all rules, each with the identities that it selects. A new identity is matched
 * with each selector once, and not with each rule of each endpoint; CIDRs are found by their
 * prefix, so that thousands of them are not matched with each other.
 */
public final class SelectorCache implements PolicyResolver.Selections {
  private static final int FEW = 8;

  private static final class Selection {
    /** Each reader has its own iterator: policies are resolved beside. */
    final IntHashSet identities = new IntHashSet(FEW, Hashing.DEFAULT_LOAD_FACTOR, false);

    final List<Rule> users = new ArrayList<>();
  }

  private final Int2ObjectHashMap<Identity> identities = new Int2ObjectHashMap<>();
  private final TreeMap<Prefix, Identity> cidrIdentities = new TreeMap<>();
  private final Map<PeerSelector, Selection> selections = new LinkedHashMap<>();
  private final Set<PeerSelector> otherSelectors = new HashSet<>();
  private final Map<Prefix, Set<CidrSelector>> cidrSelectors = new HashMap<>();

  private void remember(Identity identity) {
    identities.put(identity.id(), identity);
    identity.cidr().ifPresent(prefix -> cidrIdentities.put(prefix, identity));
  }

  /** The use of a selector by a rule. */
  public record Use(PeerSelector selector, Rule rule) {
    /** Returns the selectors of rules. */
    public static List<Use> of(List<Rule> rules) {
      final List<Use> all = new ArrayList<>();
      for (final Rule rule : rules) {
        rule.selectors().forEach(selector -> all.add(new Use(selector, rule)));
      }
      return all;
    }
  }

  /**
   * Adds the use of a selector by a rule.
   *
   * @param names returns what a selector by names selects, for those that no other rule uses
   */
  public void use(Use use, Function<NamedSelector<?>, Set<Integer>> names) {
    selections.computeIfAbsent(use.selector(), one -> select(one, names)).users.add(use.rule());
  }

  private Selection select(PeerSelector selector, Function<NamedSelector<?>, Set<Integer>> names) {
    if (selector instanceof NamedSelector<?> named) {
      final Selection selection = new Selection();
      selection.identities.addAll(names.apply(named));
      return selection;
    }
    final Collection<Identity> candidates;
    if (selector instanceof CidrSelector cidr) {
      cidrSelectors.computeIfAbsent(cidr.prefix(), prefix -> new HashSet<>()).add(cidr);
      candidates = within(cidr.prefix());
    } else {
      otherSelectors.add(selector);
      candidates = identities.values();
    }
    final Selection selection = new Selection();
    for (final Identity identity : candidates) {
      if (selector.selects(identity)) {
        selection.identities.add(identity.id());
      }
    }
    return selection;
  }

  /** In the order of prefixes, those that one covers follow it directly. */
  private Collection<Identity> within(Prefix prefix) {
    if (prefix.length() == 0) {
      return identities.values();
    }
    return cidrIdentities.subMap(prefix, true, Prefix.of(prefix.last()), true).values();
  }

  /** Removes one use of a selector, and the selector with its last use. */
  public void drop(Use use) {
    final Selection selection = selections.get(use.selector());
    removeSame(selection.users, use.rule());
    if (selection.users.isEmpty()) {
      selections.remove(use.selector());
      forget(use.selector());
    }
  }

  private void forget(PeerSelector selector) {
    if (selector instanceof CidrSelector cidr) {
      final Set<CidrSelector> samePrefix = cidrSelectors.get(cidr.prefix());
      samePrefix.remove(cidr);
      if (samePrefix.isEmpty()) {
        cidrSelectors.remove(cidr.prefix());
      }
    } else {
      otherSelectors.remove(selector);
    }
  }

  /** Returns whether a selector that rules use did not select the identity and does now. */
  public boolean include(NamedSelector<?> selector, int identity) {
    final Selection selection = selections.get(selector);
    return selection != null && selection.identities.add(identity);
  }

  /** Returns whether a selector that rules use selected the identity and does not any more. */
  public boolean exclude(NamedSelector<?> selector, int identity) {
    final Selection selection = selections.get(selector);
    return selection != null && selection.identities.remove(identity);
  }

  /** Equal rules count as several users of a selector. */
  private static void removeSame(List<Rule> rules, Rule rule) {
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i) == rule) {
        rules.remove(i);
        return;
      }
    }
  }

  /** Returns the selectors that select the identity; the same identity may be added again. */
  public Set<PeerSelector> add(Identity identity) {
    remember(identity);
    final Set<PeerSelector> changed = selecting(identity);
    changed.forEach(selector -> selections.get(selector).identities.add(identity.id()));
    return changed;
  }

  /** Returns the selectors that selected the removed identity. */
  public Set<PeerSelector> remove(Identity identity) {
    identities.remove(identity.id());
    identity.cidr().ifPresent(cidrIdentities::remove);
    final Set<PeerSelector> changed = selecting(identity);
    changed.forEach(selector -> selections.get(selector).identities.remove(identity.id()));
    return changed;
  }

  private Set<PeerSelector> selecting(Identity identity) {
    final Set<PeerSelector> found = new HashSet<>();
    for (final PeerSelector selector : otherSelectors) {
      if (selector.selects(identity)) {
        found.add(selector);
      }
    }
    CidrSelector.prefixOf(identity).ifPresent(prefix -> addCovering(prefix, identity, found));
    return found;
  }

  private void addCovering(Prefix prefix, Identity identity, Set<PeerSelector> found) {
    for (int length = prefix.length(); length >= 0 && !cidrSelectors.isEmpty(); length--) {
      for (final CidrSelector selector :
          cidrSelectors.getOrDefault(Prefix.of(prefix.address(), length), Set.of())) {
        if (selector.selects(identity)) {
          found.add(selector);
        }
      }
    }
  }

  /** Returns the identities of a selector that a rule uses. */
  @Override
  public Set<Integer> identitiesOf(PeerSelector selector) {
    return selections.get(selector).identities;
  }

  /** Returns the selectors of these rules: others may be used by a change that has not ended. */
  public List<SelectorListing> listing(List<Rule> rules) {
    final Set<Rule> present = Collections.newSetFromMap(new IdentityHashMap<>(rules.size()));
    present.addAll(rules);
    final List<SelectorListing> list = new ArrayList<>();
    selections.forEach(
        (selector, selection) -> {
          final List<Rule> users = selection.users.stream().filter(present::contains).toList();
          if (!users.isEmpty()) {
            list.add(
                new SelectorListing(
                    selector.text(),
                    selection.identities.stream().sorted().toList(),
                    users.size(),
                    users.stream().map(rule -> rule.labels().toStrings()).toList()));
          }
        });
    return list;
  }
}
