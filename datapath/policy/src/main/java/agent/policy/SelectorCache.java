package agent.policy;

import agent.identity.Identity;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The selectors of all rules, each with the identities that it selects. An identity that appears is
 * held against each selector once, and not against each rule of each endpoint.
 */
final class SelectorCache {
  private static final class Selection {
    final TreeSet<Integer> identities = new TreeSet<>();
    final List<Rule> users = new ArrayList<>();
  }

  private final TreeMap<Integer, Identity> identities = new TreeMap<>();
  private final Map<PeerSelector, Selection> selections = new LinkedHashMap<>();

  SelectorCache(Collection<Identity> known) {
    known.forEach(identity -> identities.put(identity.id(), identity));
  }

  void use(Rule rule) {
    for (final PeerSelector selector : rule.selectors()) {
      selections.computeIfAbsent(selector, this::select).users.add(rule);
    }
  }

  private Selection select(PeerSelector selector) {
    final Selection selection = new Selection();
    for (final Identity identity : identities.values()) {
      if (selector.selects(identity)) {
        selection.identities.add(identity.id());
      }
    }
    return selection;
  }

  void drop(Rule rule) {
    for (final PeerSelector selector : rule.selectors()) {
      final Selection selection = selections.get(selector);
      removeSame(selection.users, rule);
      if (selection.users.isEmpty()) {
        selections.remove(selector);
      }
    }
  }

  /** Two rules may be equal, and each counts. */
  private static void removeSame(List<Rule> rules, Rule rule) {
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i) == rule) {
        rules.remove(i);
        return;
      }
    }
  }

  /** The selectors that select the new identity. */
  Set<PeerSelector> add(Identity identity) {
    identities.put(identity.id(), identity);
    final Set<PeerSelector> changed = new HashSet<>();
    selections.forEach(
        (selector, selection) -> {
          if (selector.selects(identity) && selection.identities.add(identity.id())) {
            changed.add(selector);
          }
        });
    return changed;
  }

  /** The selectors that selected the identity that is gone. */
  Set<PeerSelector> remove(Identity identity) {
    identities.remove(identity.id());
    final Set<PeerSelector> changed = new HashSet<>();
    selections.forEach(
        (selector, selection) -> {
          if (selection.identities.remove(identity.id())) {
            changed.add(selector);
          }
        });
    return changed;
  }

  /** The identities of a selector that a rule uses. */
  Set<Integer> identitiesOf(PeerSelector selector) {
    return selections.get(selector).identities;
  }

  List<SelectorListing> listing() {
    final List<SelectorListing> list = new ArrayList<>();
    selections.forEach(
        (selector, selection) ->
            list.add(
                new SelectorListing(
                    selector.text(),
                    List.copyOf(selection.identities),
                    selection.users.size(),
                    selection.users.stream().map(rule -> rule.labels().toStrings()).toList())));
    return list;
  }
}
