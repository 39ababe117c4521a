package agent.dns;

import agent.policy.NamePattern;
import agent.types.IpAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntPredicate;

/**
 * The addresses of names, as each endpoint looked them up. An address stays until the latest of its
 * lookups expires, and longer while it is in use; of those of one name and endpoint the ones that
 * expire last are kept. An endpoint has so many names, and all of them so many: the ones that were
 * looked up longest ago go. Thread-safe.
 */
final class NameCache {
  /** So often an address is looked at again that is kept because it is in use. */
  private static final Duration HOLD = Duration.ofSeconds(30);

  private final Limits limits;
  private final LiveAddresses live;
  private final TreeMap<String, Map<Integer, Kept>> names = new TreeMap<>();
  private final Map<Integer, LinkedHashMap<String, Kept>> endpoints = new HashMap<>();

  /** Those that wait for their first expiry. */
  private final TreeSet<Kept> waiting =
      new TreeSet<>(
          Comparator.comparing((Kept kept) -> kept.due).thenComparing(kept -> kept.number));

  private final Set<String> evicted = new TreeSet<>();
  private long created;
  private int size;
  private int held;

  /**
   * What the cache keeps.
   *
   * @param leastTtlSec how long an address is kept at least
   * @param mostAddresses how many addresses of one name of an endpoint
   * @param mostNamesOfEndpoint how many names that one endpoint looked up
   * @param mostNames how many names of all endpoints together
   * @param mostHeld how many addresses whose time is over, since they are in use
   */
  record Limits(
      long leastTtlSec, int mostAddresses, int mostNamesOfEndpoint, int mostNames, int mostHeld) {
    Limits(long leastTtlSec, int mostAddresses) {
      this(leastTtlSec, mostAddresses, 10_000, 200_000, 10_000);
    }
  }

  /** A lookup; a held one is over, and its addresses are in use. */
  private record Entry(NameLookup lookup, boolean isHeld) {}

  /** The lookups of one name by one endpoint; the ones that expire last are first. */
  private static final class Kept {
    private final String name;
    private final int endpointId;
    private final long number;
    private List<Entry> entries = List.of();
    private Instant due = Instant.MAX;

    Kept(String name, int endpointId, long number) {
      this.name = name;
      this.endpointId = endpointId;
      this.number = number;
    }
  }

  /**
   * Creates an empty cache.
   *
   * @param live knows which addresses are in use
   */
  NameCache(Limits limits, LiveAddresses live) {
    this.limits = limits;
    this.live = live;
  }

  /** Returns the lookup of what is found now. */
  NameLookup lookup(
      int endpointId,
      String name,
      List<IpAddress> addresses,
      long ttlSec,
      Instant now,
      NameLookup.Source source) {
    final Instant expiration = now.plusSeconds(Math.max(ttlSec, limits.leastTtlSec()));
    return new NameLookup(name, addresses, ttlSec, now, expiration, source, endpointId);
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
    final Kept kept = keptOf(lookup.name(), lookup.endpointId());
    final List<Entry> all = new ArrayList<>(kept.entries);
    all.add(new Entry(lookup, false));
    all.sort(Comparator.comparing((Entry one) -> one.lookup().expirationTime()).reversed());
    final Set<IpAddress> taken = new HashSet<>();
    final List<Entry> entries = new ArrayList<>();
    for (final Entry one : all) {
      final List<IpAddress> own =
          one.lookup().addresses().stream()
              .filter(address -> taken.size() < limits.mostAddresses() && taken.add(address))
              .toList();
      if (!own.isEmpty()) {
        entries.add(new Entry(one.lookup().with(own), one.isHeld()));
      }
    }
    replace(kept, entries);
    evict(lookup.endpointId());
    return !before.equals(addressesOf(lookup.name()));
  }

  /** Returns what an endpoint knows of a name, which is the latest that it looked up now. */
  private Kept keptOf(String name, int endpointId) {
    final LinkedHashMap<String, Kept> own =
        endpoints.computeIfAbsent(endpointId, id -> new LinkedHashMap<>());
    Kept kept = own.remove(name);
    if (kept == null) {
      kept = new Kept(name, endpointId, created++);
      names.computeIfAbsent(name, any -> new TreeMap<>()).put(endpointId, kept);
      size++;
    }
    own.put(name, kept);
    return kept;
  }

  private void replace(Kept kept, List<Entry> entries) {
    held += heldIn(entries) - heldIn(kept.entries);
    kept.entries = List.copyOf(entries);
    waiting.remove(kept);
    if (!entries.isEmpty()) {
      kept.due = entries.getLast().lookup().expirationTime();
      waiting.add(kept);
      return;
    }
    size--;
    final Map<Integer, Kept> ofName = names.get(kept.name);
    ofName.remove(kept.endpointId);
    if (ofName.isEmpty()) {
      names.remove(kept.name);
    }
    final Map<String, Kept> own = endpoints.get(kept.endpointId);
    own.remove(kept.name);
    if (own.isEmpty()) {
      endpoints.remove(kept.endpointId);
    }
  }

  private static int heldIn(List<Entry> entries) {
    int found = 0;
    for (final Entry one : entries) {
      found += one.isHeld() ? one.lookup().addresses().size() : 0;
    }
    return found;
  }

  private void evict(int endpointId) {
    final Map<String, Kept> own = endpoints.get(endpointId);
    if (endpointId != 0 && own.size() > limits.mostNamesOfEndpoint()) {
      evictFirst(own);
    }
    if (size > limits.mostNames()) {
      evictFirst(
          endpoints.values().stream()
              .max(Comparator.comparingInt(LinkedHashMap::size))
              .orElseThrow());
    }
  }

  private void evictFirst(Map<String, Kept> own) {
    final Kept first = own.values().iterator().next();
    evicted.add(first.name);
    replace(first, List.of());
  }

  /**
   * Removes what has expired and is not in use.
   *
   * @param now the time
   * @param most how many expiries are handled; others wait for the next call
   * @return the names that have lost addresses, also to make room for others
   */
  synchronized Set<String> expire(Instant now, int most) {
    final Set<String> changed = new TreeSet<>(evicted);
    evicted.clear();
    for (int i = 0; i < most && !waiting.isEmpty(); i++) {
      final Kept kept = waiting.first();
      if (kept.due.isAfter(now)) {
        break;
      }
      if (expire(kept, now)) {
        changed.add(kept.name);
      }
    }
    return changed;
  }

  private boolean expire(Kept kept, Instant now) {
    final List<Entry> after = new ArrayList<>();
    boolean isLess = false;
    int others = held - heldIn(kept.entries);
    for (final Entry one : kept.entries) {
      final NameLookup lookup = one.lookup();
      if (lookup.expirationTime().isAfter(now)) {
        after.add(one);
        others += heldIn(List.of(one));
        continue;
      }
      final List<IpAddress> used =
          lookup.addresses().stream()
              .filter(live::inUse)
              .limit(Math.max(0, limits.mostHeld() - others))
              .toList();
      isLess |= used.size() < lookup.addresses().size();
      if (!used.isEmpty()) {
        others += used.size();
        after.add(new Entry(lookup.with(used).until(now.plus(HOLD)), true));
      }
    }
    after.sort(Comparator.comparing((Entry one) -> one.lookup().expirationTime()).reversed());
    replace(kept, after);
    return isLess;
  }

  /** Removes the names that match and returns what they had. */
  synchronized List<NameLookup> remove(NamePattern pattern) {
    final List<Kept> removed = new ArrayList<>();
    names.forEach(
        (name, ofName) -> {
          if (pattern.matches(name)) {
            removed.addAll(ofName.values());
          }
        });
    return remove(removed);
  }

  /** Removes what endpoints looked up, and returns it. */
  synchronized List<NameLookup> removeOf(IntPredicate endpointIds) {
    final List<Kept> removed = new ArrayList<>();
    endpoints.forEach(
        (id, own) -> {
          if (id != 0 && endpointIds.test(id)) {
            removed.addAll(own.values());
          }
        });
    return remove(removed);
  }

  private List<NameLookup> remove(Collection<Kept> removed) {
    final List<NameLookup> lookups = new ArrayList<>();
    for (final Kept kept : removed) {
      kept.entries.forEach(one -> lookups.add(one.lookup()));
      replace(kept, List.of());
    }
    return lookups;
  }

  /** Returns the addresses of a name. */
  synchronized Set<IpAddress> addressesOf(String name) {
    final Set<IpAddress> addresses = new TreeSet<>();
    for (final Kept kept : names.getOrDefault(name, Map.of()).values()) {
      kept.entries.forEach(one -> addresses.addAll(one.lookup().addresses()));
    }
    return addresses;
  }

  /** Returns whether a name has all of these addresses, and still has them at a later time. */
  synchronized boolean has(String name, Collection<IpAddress> addresses, Instant time) {
    final Set<IpAddress> missing = new HashSet<>(addresses);
    for (final Kept kept : names.getOrDefault(name, Map.of()).values()) {
      for (final Entry one : kept.entries) {
        if (one.lookup().expirationTime().isAfter(time)) {
          one.lookup().addresses().forEach(missing::remove);
        }
      }
    }
    return missing.isEmpty();
  }

  /** Returns how many names the endpoints have together. */
  synchronized int size() {
    return size;
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
    for (final Map<Integer, Kept> ofName : names.values()) {
      ofName.values().forEach(kept -> kept.entries.forEach(one -> all.add(one.lookup())));
    }
    return all;
  }

  /** Returns the lookups of one endpoint in the order of their names. */
  synchronized List<NameLookup> list(int endpointId) {
    final List<NameLookup> all = new ArrayList<>();
    new TreeMap<>(endpoints.getOrDefault(endpointId, new LinkedHashMap<>()))
        .values()
        .forEach(kept -> kept.entries.forEach(one -> all.add(one.lookup())));
    return all;
  }
}
