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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The addresses of names, and the references of the rules' names to the identities of these
 * addresses: an address of a name that a rule selects has an identity as a CIDR of one address has.
 * A name that no rule selects has none.
 */
final class NameReferences {
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

  private final CidrIdentityAllocator allocator;
  private final Map<String, Set<Prefix>> names = new TreeMap<>();
  private final Map<FqdnSelector, Use> uses = new ConcurrentHashMap<>();
  private final Map<String, FqdnSelector> ofOneName = new HashMap<>();
  private final Set<FqdnSelector> ofManyNames = new HashSet<>();
  private final List<Integer> released = new ArrayList<>();
  private volatile Set<String> wanted = Set.of();

  NameReferences(
      CidrIdentityAllocator allocator, Map<String, ? extends Collection<IpAddress>> names) {
    this.allocator = allocator;
    names.forEach((name, addresses) -> this.names.put(name, prefixes(addresses)));
  }

  private static Set<Prefix> prefixes(Collection<IpAddress> addresses) {
    final Set<Prefix> prefixes = new TreeSet<>();
    addresses.forEach(address -> prefixes.add(Prefix.of(address)));
    return prefixes;
  }

  /** Returns the names that rules select one by one, for any thread. */
  Set<String> wanted() {
    return wanted;
  }

  /** Returns whether a rule selects a name; any thread may ask. */
  boolean selects(String name) {
    for (final FqdnSelector selector : uses.keySet()) {
      if (selector.pattern().matches(name)) {
        return true;
      }
    }
    return false;
  }

  private static List<FqdnSelector> selectorsOf(List<Rule> rules) {
    final List<FqdnSelector> all = new ArrayList<>();
    for (final Rule rule : rules) {
      for (final PeerSelector selector : rule.selectors()) {
        if (selector instanceof FqdnSelector names) {
          all.add(names);
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
    final List<FqdnSelector> taken = new ArrayList<>();
    try {
      for (final FqdnSelector selector : selectorsOf(rules)) {
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

  private void acquire(FqdnSelector selector) {
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
    if (selector.pattern().isName()) {
      ofOneName.put(selector.pattern().toString(), selector);
    } else {
      ofManyNames.add(selector);
    }
  }

  /** Returns each address of the names of a selector with the number of these names. */
  private Map<Prefix, Integer> matching(FqdnSelector selector) {
    final Map<Prefix, Integer> found = new HashMap<>();
    if (selector.pattern().isName()) {
      names
          .getOrDefault(selector.pattern().toString(), Set.of())
          .forEach(prefix -> found.put(prefix, 1));
    } else {
      names.forEach(
          (name, prefixes) -> {
            if (selector.pattern().matches(name)) {
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

  private void drop(FqdnSelector selector) {
    final Use use = uses.get(selector);
    if (--use.rules == 0) {
      uses.remove(selector);
      ofOneName.remove(selector.pattern().toString());
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
  Set<Integer> identitiesOf(FqdnSelector selector) {
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
  boolean selects(FqdnSelector selector, Identity identity) {
    final Use use = uses.get(selector);
    return use != null && identity.cidr().filter(use.addresses::containsKey).isPresent();
  }

  /** Hears which identities a selector gains and loses. */
  interface Listener {
    /** The selector has an address with this identity from now on. */
    void onGained(FqdnSelector selector, int identity);

    /** The selector has no address with this identity any more. */
    void onLost(FqdnSelector selector, int identity);
  }

  /**
   * Gives names other addresses. References that are not needed any more are given back by {@link
   * #release}.
   *
   * @param changed names with all addresses that they have now; none for a name that is gone
   * @param listener hears of every identity that a selector gains or loses
   */
  void change(Map<String, ? extends Collection<IpAddress>> changed, Listener listener) {
    changed.forEach((name, addresses) -> change(name, prefixes(addresses), listener));
  }

  private void change(String name, Set<Prefix> after, Listener listener) {
    final Set<Prefix> before = names.getOrDefault(name, Set.of());
    for (final FqdnSelector selector : selecting(name)) {
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
    if (after.isEmpty()) {
      names.remove(name);
    } else {
      names.put(name, after);
    }
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

  private List<FqdnSelector> selecting(String name) {
    final List<FqdnSelector> found = new ArrayList<>();
    if (ofOneName.containsKey(name)) {
      found.add(ofOneName.get(name));
    }
    for (final FqdnSelector selector : ofManyNames) {
      if (selector.pattern().matches(name)) {
        found.add(selector);
      }
    }
    return found;
  }
}
