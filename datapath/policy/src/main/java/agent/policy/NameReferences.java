package agent.policy;

import agent.identity.CidrIdentityAllocator;
import agent.identity.Identity;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The addresses of names, and the references of the rules' names to the identities of these
 * addresses: an address of a name that a rule selects has an identity as a CIDR of one address has.
 * A name that no rule selects has none.
 *
 * @param <N> a name
 * @param <S> a selector by names
 */
final class NameReferences<N, S extends NamedSelector<N>> {
  /** What a selector has. */
  private static final class Use {
    private final Map<Prefix, Held> addresses = new ConcurrentHashMap<>();
    private int rules;
  }

  /**
   * An address of a selector.
   *
   * @param identity the identity to which the selector has a reference
   * @param names how many of its names have the address
   */
  private record Held(int identity, int names) {}

  private final Class<S> kind;
  private final CidrIdentityAllocator allocator;
  private final Map<N, Set<Prefix>> names = new HashMap<>();
  private final Map<S, Use> uses = new ConcurrentHashMap<>();
  private final Map<N, S> ofOneName = new HashMap<>();
  private final Set<S> ofManyNames = new HashSet<>();
  private final List<Integer> released = new ArrayList<>();
  private volatile Set<N> wanted = Set.of();

  NameReferences(
      Class<S> kind,
      CidrIdentityAllocator allocator,
      Map<N, ? extends Collection<IpAddress>> names) {
    this.kind = kind;
    this.allocator = allocator;
    names.forEach((name, addresses) -> this.names.put(name, prefixes(addresses)));
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
  Set<N> wanted() {
    return wanted;
  }

  /** Returns whether a rule selects a name; any thread may ask. */
  boolean selects(N name) {
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

  /** Returns every address that names of these rules have. */
  Set<Prefix> prefixesOf(List<Rule> rules) {
    final Set<Prefix> all = new TreeSet<>();
    selectorsOf(rules).forEach(selector -> all.addAll(matching(selector).keySet()));
    return all;
  }

  /** Takes the references of rules, all or none. */
  void acquire(List<Rule> rules) {
    final List<S> taken = new ArrayList<>();
    try {
      for (final S selector : selectorsOf(rules)) {
        acquire(selector);
        taken.add(selector);
      }
    } catch (Refusal refusal) {
      taken.forEach(this::drop);
      release();
      throw refusal;
    } finally {
      publishWanted();
    }
  }

  private void acquire(S selector) {
    final Use known = uses.get(selector);
    if (known != null) {
      known.rules++;
      return;
    }
    final Use use = new Use();
    use.rules = 1;
    try {
      matching(selector)
          .forEach(
              (prefix, count) ->
                  use.addresses.put(prefix, new Held(allocator.acquire(prefix).id(), count)));
    } catch (Refusal refusal) {
      use.addresses.values().forEach(held -> allocator.release(held.identity()));
      throw refusal;
    }
    uses.put(selector, use);
    if (selector.onlyName() != null) {
      ofOneName.put(selector.onlyName(), selector);
    } else {
      ofManyNames.add(selector);
    }
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

  /** Ends the use by rules; {@link #release} gives the references back. */
  void drop(List<Rule> rules) {
    selectorsOf(rules).forEach(this::drop);
    publishWanted();
  }

  private void drop(S selector) {
    final Use use = uses.get(selector);
    if (--use.rules == 0) {
      uses.remove(selector);
      ofOneName.remove(selector.onlyName());
      ofManyNames.remove(selector);
      use.addresses.values().forEach(held -> released.add(held.identity()));
    }
  }

  private void publishWanted() {
    if (!wanted.equals(ofOneName.keySet())) {
      wanted = Set.copyOf(ofOneName.keySet());
    }
  }

  /** Gives back the references that are not needed any more. */
  void release() {
    released.forEach(allocator::release);
    released.clear();
  }

  /** Returns the identities of a selector's addresses. */
  Set<Integer> identitiesOf(S selector) {
    final Set<Integer> identities = new TreeSet<>();
    final Use use = uses.get(selector);
    if (use != null) {
      use.addresses.values().forEach(held -> identities.add(held.identity()));
    }
    return identities;
  }

  /**
   * Returns whether an identity is that of an address which a name of the selector has now; any
   * thread may call.
   */
  boolean selects(S selector, Identity identity) {
    final Use use = uses.get(selector);
    return use != null && identity.cidr().filter(use.addresses::containsKey).isPresent();
  }

  /** Hears which identities a selector gains and loses. */
  interface Listener<S> {
    /** The selector has an address with this identity from now on. */
    void onGained(S selector, int identity);

    /** The selector has no address with this identity any more. */
    void onLost(S selector, int identity);
  }

  /**
   * Gives names other addresses, all or none. References that are not needed any more are given
   * back by {@link #release}.
   *
   * @param changed names with all addresses that they have now; none for a name that is gone
   * @param listener hears of every identity that a selector gains or loses
   */
  void change(Map<N, ? extends Collection<IpAddress>> changed, Listener<S> listener) {
    final Map<N, Set<Prefix>> after = new LinkedHashMap<>();
    changed.forEach((name, addresses) -> after.put(name, prefixes(addresses)));
    final List<Integer> held = new ArrayList<>();
    try {
      after.forEach((name, prefixes) -> hold(name, prefixes, held));
      after.forEach((name, prefixes) -> change(name, prefixes, listener));
    } finally {
      held.forEach(allocator::release);
    }
  }

  /** Gives names other addresses where no rule selects one of them; else returns false. */
  boolean takeUnselected(Map<N, ? extends Collection<IpAddress>> changed) {
    for (final N name : changed.keySet()) {
      if (!selecting(name).isEmpty()) {
        return false;
      }
    }
    changed.forEach((name, addresses) -> put(name, prefixes(addresses)));
    return true;
  }

  private void put(N name, Set<Prefix> after) {
    if (after.isEmpty()) {
      names.remove(name);
    } else {
      names.put(name, after);
    }
  }

  /** Takes a reference to each new address that a selector will have, so that none is missing. */
  private void hold(N name, Set<Prefix> after, List<Integer> held) {
    if (!selecting(name).isEmpty()) {
      final Set<Prefix> gained = new TreeSet<>(after);
      gained.removeAll(names.getOrDefault(name, Set.of()));
      gained.forEach(prefix -> held.add(allocator.acquire(prefix).id()));
    }
  }

  private void change(N name, Set<Prefix> after, Listener<S> listener) {
    final Set<Prefix> before = names.getOrDefault(name, Set.of());
    for (final S selector : selecting(name)) {
      final Map<Prefix, Held> addresses = uses.get(selector).addresses;
      for (final Prefix prefix : after) {
        if (!before.contains(prefix) && gain(addresses, prefix)) {
          listener.onGained(selector, addresses.get(prefix).identity());
        }
      }
      for (final Prefix prefix : before) {
        if (!after.contains(prefix)) {
          final int lost = lose(addresses, prefix);
          if (lost != 0) {
            listener.onLost(selector, lost);
            released.add(lost);
          }
        }
      }
    }
    put(name, after);
  }

  /** Returns whether no other name of the selector has the address. */
  private boolean gain(Map<Prefix, Held> addresses, Prefix prefix) {
    final Held held = addresses.get(prefix);
    addresses.put(
        prefix,
        held == null
            ? new Held(allocator.acquire(prefix).id(), 1)
            : new Held(held.identity(), held.names() + 1));
    return held == null;
  }

  /** Returns the identity of an address that no name of the selector has any more; or 0. */
  private static int lose(Map<Prefix, Held> addresses, Prefix prefix) {
    final Held held = addresses.get(prefix);
    if (held == null || held.names() > 1) {
      addresses.computeIfPresent(prefix, (p, h) -> new Held(h.identity(), h.names() - 1));
      return 0;
    }
    addresses.remove(prefix);
    return held.identity();
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
