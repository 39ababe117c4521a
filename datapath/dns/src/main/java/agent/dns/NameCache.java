package agent.dns;

import agent.policy.NamePattern;
import agent.types.IpAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The addresses of names. An address stays until the latest of its lookups expires, and of those of
 * one name the ones that expire last are kept. Thread-safe.
 */
final class NameCache {
  private final long leastTtlSec;
  private final int mostAddresses;
  private final TreeMap<String, List<NameLookup>> names = new TreeMap<>();
  private final PriorityQueue<Expiry> expiries =
      new PriorityQueue<>(Comparator.comparing(Expiry::time));

  private record Expiry(Instant time, String name) {}

  /**
   * Creates an empty cache.
   *
   * @param leastTtlSec how long an address is kept at least
   * @param mostAddresses how many addresses of one name are kept
   */
  NameCache(long leastTtlSec, int mostAddresses) {
    this.leastTtlSec = leastTtlSec;
    this.mostAddresses = mostAddresses;
  }

  /**
   * Adds what is found now.
   *
   * @return whether the name has other addresses than before
   */
  synchronized boolean add(
      String name, List<IpAddress> addresses, long ttlSec, Instant now, NameLookup.Source source) {
    final Instant expiration = now.plusSeconds(Math.max(ttlSec, leastTtlSec));
    return add(new NameLookup(name, addresses, ttlSec, now, expiration, source));
  }

  /**
   * Adds a lookup with the expiration that it has.
   *
   * @return whether the name has other addresses than before
   */
  synchronized boolean add(NameLookup lookup) {
    if (lookup.addresses().isEmpty()) {
      return false;
    }
    final Set<IpAddress> before = addressesOf(lookup.name());
    final List<NameLookup> all = new ArrayList<>(names.getOrDefault(lookup.name(), List.of()));
    all.add(lookup);
    all.sort(Comparator.comparing(NameLookup::expirationTime).reversed());
    final Set<IpAddress> taken = new HashSet<>();
    final List<NameLookup> kept = new ArrayList<>();
    for (final NameLookup one : all) {
      final List<IpAddress> own =
          one.addresses().stream()
              .filter(address -> taken.size() < mostAddresses && taken.add(address))
              .toList();
      if (!own.isEmpty()) {
        kept.add(one.with(own));
      }
    }
    names.put(lookup.name(), List.copyOf(kept));
    expiries.add(new Expiry(lookup.expirationTime(), lookup.name()));
    return !before.equals(addressesOf(lookup.name()));
  }

  /**
   * Removes what has expired.
   *
   * @param now the time
   * @param most how many expiries are handled; others wait for the next call
   * @return the names that have lost addresses
   */
  synchronized Set<String> expire(Instant now, int most) {
    final Set<String> changed = new TreeSet<>();
    for (int i = 0; i < most && !expiries.isEmpty(); i++) {
      final Expiry next = expiries.peek();
      if (next.time().isAfter(now)) {
        break;
      }
      expiries.poll();
      final List<NameLookup> before = names.getOrDefault(next.name(), List.of());
      final List<NameLookup> after =
          before.stream().filter(lookup -> lookup.expirationTime().isAfter(now)).toList();
      if (after.size() < before.size()) {
        changed.add(next.name());
        put(next.name(), after);
      }
    }
    return changed;
  }

  private void put(String name, List<NameLookup> lookups) {
    if (lookups.isEmpty()) {
      names.remove(name);
    } else {
      names.put(name, lookups);
    }
  }

  /** Removes the names that match and returns what they had. */
  synchronized List<NameLookup> remove(NamePattern pattern) {
    final List<NameLookup> removed = new ArrayList<>();
    names
        .entrySet()
        .removeIf(
            entry -> {
              final boolean isMatch = pattern.matches(entry.getKey());
              if (isMatch) {
                removed.addAll(entry.getValue());
              }
              return isMatch;
            });
    return removed;
  }

  /** Returns the addresses of a name. */
  synchronized Set<IpAddress> addressesOf(String name) {
    final Set<IpAddress> addresses = new TreeSet<>();
    names.getOrDefault(name, List.of()).forEach(lookup -> addresses.addAll(lookup.addresses()));
    return addresses;
  }

  /** Returns the addresses of all names. */
  synchronized Map<String, Set<IpAddress>> addresses() {
    final Map<String, Set<IpAddress>> all = new TreeMap<>();
    names.keySet().forEach(name -> all.put(name, addressesOf(name)));
    return all;
  }

  /** Returns all lookups in the order of their names. */
  synchronized List<NameLookup> list() {
    final List<NameLookup> all = new ArrayList<>();
    names.values().forEach(all::addAll);
    return all;
  }
}
