package agent.policy.reference;

import agent.identity.Identity;
import agent.policy.rule.NamedSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.Rule;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The names by which rules select addresses, and the addresses that they have. Only those of names
 * that a rule selects have an identity. Names that no rule selects are taken on any thread.
 *
 * @param <N> a name
 * @param <S> a selector by names
 */
public final class NameReferences<N, S extends NamedSelector<N>> {
  /** What a selector has: its addresses, each with the number of its names that have it. */
  private static final class Use {
    private final Map<Prefix, Integer> addresses = new ConcurrentHashMap<>();
    private int rules;
  }

  /** Held for the names and who selects them, and for no call to others. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Class<S> kind;
  private final NamedAddresses addresses;
  private final Map<N, Set<Prefix>> names = new HashMap<>();
  private final Map<S, Use> uses = new ConcurrentHashMap<>();
  private final Map<N, S> ofOneName = new HashMap<>();
  private final Set<S> ofManyNames = new HashSet<>();
  private volatile Set<N> wanted = Set.of();

  NameReferences(
      Class<S> kind, NamedAddresses addresses, Map<N, ? extends Collection<IpAddress>> names) {
    this.kind = kind;
    this.addresses = addresses;
    names.forEach((name, known) -> this.names.put(name, prefixes(known)));
  }

  private static Set<Prefix> prefixes(Collection<IpAddress> addresses) {
    if (addresses.size() == 1) { // most names have one, and there are many names
      return Set.of(Prefix.of(addresses.iterator().next()));
    }
    final Set<Prefix> prefixes = new TreeSet<>();
    addresses.forEach(address -> prefixes.add(Prefix.of(address)));
    return prefixes;
  }

  /** Returns the names that rules select one by one, for any thread. */
  public Set<N> wanted() {
    return wanted;
  }

  /** Returns whether a rule selects a name; any thread may ask. */
  public boolean selects(N name) {
    for (final S selector : uses.keySet()) {
      if (selector.matches(name)) {
        return true;
      }
    }
    return false;
  }

  private List<S> selectorsOf(List<Rule> rules) {
    final List<S> all = new ArrayList<>();
    for (final Rule rule : rules) {
      for (final PeerSelector selector : rule.selectors()) {
        if (kind.isInstance(selector)) {
          all.add(kind.cast(selector));
        }
      }
    }
    return all;
  }

  /** Adds the use by rules, and the addresses that their selectors gain to the moves. */
  void acquire(List<Rule> rules, NamedAddresses.Moves moves) {
    final List<S> selectors = selectorsOf(rules);
    locked(
        () -> {
          selectors.forEach(selector -> acquire(selector, moves));
          publishWanted();
        });
  }

  private void acquire(S selector, NamedAddresses.Moves moves) {
    final Use known = uses.get(selector);
    if (known != null) {
      known.rules++;
      return;
    }
    final Use use = new Use();
    use.rules = 1;
    use.addresses.putAll(matching(selector));
    uses.put(selector, use);
    if (selector.onlyName() != null) {
      ofOneName.put(selector.onlyName(), selector);
    } else {
      ofManyNames.add(selector);
    }
    addresses.use(selector, use.addresses.keySet(), moves);
  }

  /** Returns each address of the names of a selector with the number of these names. */
  private Map<Prefix, Integer> matching(S selector) {
    final Map<Prefix, Integer> found = new HashMap<>();
    if (selector.onlyName() != null) {
      names.getOrDefault(selector.onlyName(), Set.of()).forEach(prefix -> found.put(prefix, 1));
    } else {
      names.forEach(
          (name, prefixes) -> {
            if (selector.matches(name)) {
              prefixes.forEach(prefix -> found.merge(prefix, 1, Integer::sum));
            }
          });
    }
    return found;
  }

  /** Ends the use by rules. */
  void drop(List<Rule> rules) {
    final List<S> selectors = selectorsOf(rules);
    locked(
        () -> {
          selectors.forEach(this::drop);
          publishWanted();
        });
  }

  private void locked(Runnable work) {
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  private void drop(S selector) {
    final Use use = uses.get(selector);
    if (--use.rules == 0) {
      uses.remove(selector);
      ofOneName.remove(selector.onlyName());
      ofManyNames.remove(selector);
      addresses.drop(selector, use.addresses.keySet());
    }
  }

  private void publishWanted() {
    if (!wanted.equals(ofOneName.keySet())) {
      wanted = Set.copyOf(ofOneName.keySet());
    }
  }

  /** Returns the identities of a selector's addresses. */
  Set<Integer> identitiesOf(S selector) {
    final Set<Integer> identities = new TreeSet<>();
    final Use use = uses.get(selector);
    if (use != null) {
      use.addresses.keySet().forEach(address -> identities.add(addresses.identityOf(address)));
    }
    return identities;
  }

  /**
   * Returns whether an identity is that of addresses which names of the selector have now; any
   * thread may call.
   */
  boolean selects(S selector, Identity identity) {
    final Use use = uses.get(selector);
    return use != null
        && identity.outside().isPresent()
        && (selector.hasLabel() && identity.labels().contains(selector.label())
            || identity.cidr().filter(use.addresses::containsKey).isPresent());
  }

  /**
   * Replaces the addresses of names, all or none.
   *
   * @param changed names with all addresses that they have now; none for a name that is gone
   * @throws Refusal EXHAUSTED where an address can have no identity
   */
  public void change(Map<N, ? extends Collection<IpAddress>> changed) {
    final Map<N, Set<Prefix>> before = new HashMap<>();
    final NamedAddresses.Moves moves = new NamedAddresses.Moves();
    locked(
        () ->
            changed.forEach(
                (name, after) -> {
                  before.put(name, names.getOrDefault(name, Set.of()));
                  change(name, prefixes(after), moves);
                }));
    try {
      addresses.apply(moves, Map.of());
    } catch (Refusal refusal) {
      final NamedAddresses.Moves back = new NamedAddresses.Moves();
      locked(() -> before.forEach((name, prefixes) -> change(name, prefixes, back)));
      throw refusal;
    }
  }

  /**
   * Replaces the addresses of names if no rule selects one of them; else, or where another thread
   * changes names at this moment, returns false. Waits for none; for any thread.
   */
  public boolean takeUnselected(Map<N, ? extends Collection<IpAddress>> changed) {
    if (!lock.tryLock()) {
      return false;
    }
    try {
      for (final N name : changed.keySet()) {
        if (!selecting(name).isEmpty()) {
          return false;
        }
      }
      changed.forEach((name, addresses) -> put(name, prefixes(addresses)));
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void put(N name, Set<Prefix> after) {
    if (after.isEmpty()) {
      names.remove(name);
    } else {
      names.put(name, after);
    }
  }

  private void change(N name, Set<Prefix> after, NamedAddresses.Moves moves) {
    final Set<Prefix> before = names.getOrDefault(name, Set.of());
    for (final S selector : selecting(name)) {
      final Map<Prefix, Integer> counts = uses.get(selector).addresses;
      for (final Prefix prefix : after) {
        if (!before.contains(prefix) && counts.merge(prefix, 1, Integer::sum) == 1) {
          moves.gain(prefix, selector);
        }
      }
      for (final Prefix prefix : before) {
        if (!after.contains(prefix)
            && counts.computeIfPresent(prefix, (same, n) -> n == 1 ? null : n - 1) == null) {
          moves.lose(prefix, selector);
        }
      }
    }
    put(name, after);
  }

  private List<S> selecting(N name) {
    final List<S> found = new ArrayList<>();
    if (ofOneName.containsKey(name)) {
      found.add(ofOneName.get(name));
    }
    for (final S selector : ofManyNames) {
      if (selector.matches(name)) {
        found.add(selector);
      }
    }
    return found;
  }
}
