package agent.dns;

import agent.types.IpAddress;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The addresses of names that the rules were last given, and which of them the kernel has for
 * certain: while a change is on its way, those that the name has before and after it; after one
 * that failed, none. For the thread of the names, but for {@link #hasForCertain} and {@link
 * #settle}.
 */
final class EnforcedAddresses {
  private final Map<String, Set<IpAddress>> certain = new ConcurrentHashMap<>();

  /** What the names of a change were given that is on its way or failed. */
  private final Map<String, Set<IpAddress>> changing = new HashMap<>();

  /** Adds what the kernel has from the start on. */
  void restore(String name, Set<IpAddress> addresses) {
    certain.put(name, addresses);
  }

  /** Returns what the rules were given for a name. */
  Set<IpAddress> of(String name) {
    final Set<IpAddress> given = changing.get(name);
    return given != null ? given : certain.getOrDefault(name, Set.of());
  }

  /** Returns whether the kernel has all of these addresses; any thread may ask. */
  boolean hasForCertain(String name, Collection<IpAddress> addresses) {
    return certain.getOrDefault(name, Set.of()).containsAll(addresses);
  }

  /** Begins a change: names with all addresses that they have now. */
  void begin(Map<String, Set<IpAddress>> changes) {
    changing.putAll(changes);
    changes.forEach(
        (name, addresses) ->
            certain.computeIfPresent(name, (same, before) -> common(before, addresses)));
  }

  private static Set<IpAddress> common(Set<IpAddress> before, Set<IpAddress> after) {
    final Set<IpAddress> both = new TreeSet<>(before);
    both.retainAll(after);
    return both.isEmpty() ? null : both;
  }

  /**
   * The kernel has what a change gave. Any thread may call, while no other change is on its way:
   * none takes addresses back meanwhile.
   */
  void settle(Map<String, Set<IpAddress>> changes) {
    changes.forEach(
        (name, addresses) -> {
          if (!addresses.isEmpty()) {
            certain.put(name, addresses);
          }
        });
  }

  /** Ends a change that is settled. */
  void end(Set<String> names) {
    changing.keySet().removeAll(names);
  }

  /** Ends a change that failed: what the kernel has of these names is not known. */
  void doubt(Set<String> names) {
    certain.keySet().removeAll(names);
  }
}
