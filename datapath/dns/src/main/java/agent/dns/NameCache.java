package agent.dns;

import agent.datapath.spec.AddressUse;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
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
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;

/**
 * The addresses of names, as each endpoint looked them up. An address stays until the latest of its
 * lookups expires; of those of one name and endpoint the ones that expire last are kept. An
 * endpoint has so many names, and all of them so many: the ones that were looked up longest ago go.
 * What goes by these rules stays while connections to it are open. Thread-safe.
 */
final class NameCache implements AddressUse {
  private final Limits limits;

  /** So many names are listed, and results of a search taken, at a time. */
  private static final int PART = 256;

  private static final long PAUSE_NS = 20_000;

  private final HeldAddresses held;

  /** In the order of names, and for one name of endpoints. */
  private final TreeSet<Kept> names =
      new TreeSet<>(
          Comparator.comparing((Kept kept) -> kept.name).thenComparing(kept -> kept.endpointId));

  private final Map<Integer, LinkedHashMap<String, Kept>> endpoints = new HashMap<>();

  /** Those that wait for their first expiry. */
  private final TreeSet<Kept> waiting =
      new TreeSet<>(
          Comparator.comparing((Kept kept) -> kept.due).thenComparing(kept -> kept.number));

  private final TreeSet<String> lost = new TreeSet<>();

  /** What the present search for connections looks for; of the thread of the sweeps. */
  private List<HeldAddresses.Key> searched = List.of();

  private long created;

  /**
   * What the cache keeps.
   *
   * @param leastTtlSec how long an address is kept at least
   * @param mostAddresses how many addresses of one name of an endpoint
   * @param mostNamesOfEndpoint how many names that one endpoint looked up
   * @param mostNames how many names of all endpoints together
   * @param mostHeld how many addresses whose time is over, since they are in use; 0: none
   */
  record Limits(
      long leastTtlSec, int mostAddresses, int mostNamesOfEndpoint, int mostNames, int mostHeld) {
    Limits(long leastTtlSec, int mostAddresses, int mostHeld) {
      this(leastTtlSec, mostAddresses, 25_000, 200_000, mostHeld);
    }
  }

  /** The lookups of one name by one endpoint; the ones that expire last are first. */
  private static final class Kept {
    private final String name;
    private final int endpointId;
    private final long number;
    private List<NameLookup> lookups = List.of();
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
   * @param shares hears of the addresses that are held since they are in use
   */
  NameCache(Limits limits, HeldShares shares) {
    this.limits = limits;
    held = new HeldAddresses(limits.mostHeld(), lost::add, shares);
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
   * Adds a lookup with the expiration that it has, or one that is over and may be in use.
   *
   * @return whether the name has other addresses than before, or has them for longer than
   *     connections
   */
  synchronized boolean add(NameLookup lookup) {
    if (lookup.addresses().isEmpty()) {
      return false;
    }
    final Set<IpAddress> before = addressesOf(lookup.name());
    if (lookup.source() == NameLookup.Source.CONNECTION) {
      held.add(lookup);
      return !before.containsAll(lookup.addresses());
    }
    final boolean wasHeld = held.release(lookup);
    final Kept kept = keptOf(lookup.name(), lookup.endpointId());
    final List<NameLookup> former = kept.lookups;
    final List<NameLookup> all = new ArrayList<>(former);
    all.add(lookup);
    all.sort(Comparator.comparing(NameLookup::expirationTime).reversed());
    final Set<IpAddress> taken = new HashSet<>();
    final List<NameLookup> lookups = new ArrayList<>();
    for (final NameLookup one : all) {
      final List<IpAddress> own =
          one.addresses().stream()
              .filter(address -> taken.size() < limits.mostAddresses() && taken.add(address))
              .toList();
      if (!own.isEmpty()) {
        lookups.add(own.size() == one.addresses().size() ? one : one.with(own));
      }
    }
    replace(kept, lookups);
    for (final NameLookup one : former) {
      final List<IpAddress> gone =
          one.addresses().stream().filter(address -> !taken.contains(address)).toList();
      hold(one.with(gone), lookup.lookupTime());
    }
    evict(lookup.endpointId(), lookup.lookupTime());
    return wasHeld || !before.equals(addressesOf(lookup.name()));
  }

  /** Keeps what is over while it is in use. */
  private void hold(NameLookup lookup, Instant now) {
    if (!lookup.addresses().isEmpty()) {
      held.add(lookup.expirationTime().isAfter(now) ? lookup.until(now) : lookup);
    }
  }

  /** Returns what an endpoint knows of a name, which is the latest that it looked up now. */
  private Kept keptOf(String name, int endpointId) {
    final LinkedHashMap<String, Kept> own =
        endpoints.computeIfAbsent(endpointId, id -> new LinkedHashMap<>());
    Kept kept = own.remove(name);
    if (kept == null) {
      kept = new Kept(name, endpointId, created++);
      names.add(kept);
    }
    own.put(name, kept);
    return kept;
  }

  private void replace(Kept kept, List<NameLookup> lookups) {
    kept.lookups = List.copyOf(lookups);
    waiting.remove(kept);
    if (!lookups.isEmpty()) {
      kept.due = lookups.getLast().expirationTime();
      waiting.add(kept);
      return;
    }
    names.remove(kept);
    final Map<String, Kept> own = endpoints.get(kept.endpointId);
    own.remove(kept.name);
    if (own.isEmpty()) {
      endpoints.remove(kept.endpointId);
    }
  }

  private void evict(int endpointId, Instant now) {
    final Map<String, Kept> own = endpoints.get(endpointId);
    if (endpointId != 0 && own.size() > limits.mostNamesOfEndpoint()) {
      evictFirst(own, now);
    }
    if (names.size() > limits.mostNames()) {
      evictFirst(
          endpoints.values().stream()
              .max(Comparator.comparingInt(LinkedHashMap::size))
              .orElseThrow(),
          now);
    }
  }

  private void evictFirst(Map<String, Kept> own, Instant now) {
    final Kept first = own.values().iterator().next();
    final List<NameLookup> evicted = first.lookups;
    replace(first, List.of());
    evicted.forEach(lookup -> hold(lookup, now));
  }

  /**
   * Ends the time of what has expired.
   *
   * @param now the time
   * @param most how many expiries are handled, and names returned; others wait for the next call
   * @return names that may have lost addresses, by any rule
   */
  synchronized Set<String> expire(Instant now, int most) {
    for (int i = 0; i < most && !waiting.isEmpty(); i++) {
      final Kept kept = waiting.first();
      if (kept.due.isAfter(now)) {
        break;
      }
      final List<NameLookup> former = kept.lookups;
      replace(kept, former.stream().filter(one -> one.expirationTime().isAfter(now)).toList());
      former.stream().filter(one -> !one.expirationTime().isAfter(now)).forEach(held::add);
    }
    final Set<String> changed = new TreeSet<>();
    while (changed.size() < most && !lost.isEmpty()) {
      changed.add(lost.pollFirst());
    }
    return changed;
  }

  /** Returns whether {@link #expire} has left something to its next call. */
  synchronized boolean hasEnding(Instant now) {
    return !lost.isEmpty() || !waiting.isEmpty() && !waiting.first().due.isAfter(now);
  }

  /** Whether many addresses wait for a search for connections. */
  @Override
  public boolean isPressing() {
    return held.isPressing();
  }

  @Override
  public Set<IpAddress> asked() {
    synchronized (this) {
      searched = held.ask();
    }
    final Set<IpAddress> addresses = new TreeSet<>();
    searched.forEach(key -> addresses.add(key.address()));
    return addresses;
  }

  /** Other callers wait for a part of it at most, since a pause lets them in after each. */
  @Override
  public void found(Set<IpAddress> inUse) {
    for (int from = 0; from < searched.size(); from += PART) {
      final int to = Math.min(from + PART, searched.size());
      synchronized (this) {
        held.found(searched.subList(from, to), inUse);
      }
      LockSupport.parkNanos(PAUSE_NS);
    }
    searched = List.of();
  }

  /** Removes the names that match, even what is in use, and returns what they had. */
  synchronized List<NameLookup> remove(NamePattern pattern) {
    final List<Kept> removed = names.stream().filter(kept -> pattern.matches(kept.name)).toList();
    final List<NameLookup> lookups = remove(removed);
    lookups.addAll(held.remove(lookup -> pattern.matches(lookup.name())));
    return lookups;
  }

  /**
   * Removes what endpoints looked up, and returns it. Addresses that no other lookup of the name
   * has stay as those of no endpoint, while connections to them are open.
   */
  synchronized List<NameLookup> removeOf(IntPredicate endpointIds, Instant now) {
    final IntPredicate isRemoved = id -> id != 0 && endpointIds.test(id);
    final List<Kept> removed = new ArrayList<>();
    endpoints.forEach(
        (id, own) -> {
          if (isRemoved.test(id)) {
            removed.addAll(own.values());
          }
        });
    final List<NameLookup> lookups = remove(removed);
    lookups.addAll(held.remove(lookup -> isRemoved.test(lookup.endpointId())));
    for (final NameLookup one : lookups) {
      final Set<IpAddress> others = addressesOf(one.name());
      hold(
          one.with(one.addresses().stream().filter(own -> !others.contains(own)).toList()).of(0),
          now);
    }
    return lookups;
  }

  private List<NameLookup> remove(Collection<Kept> removed) {
    final List<NameLookup> lookups = new ArrayList<>();
    for (final Kept kept : removed) {
      lookups.addAll(kept.lookups);
      replace(kept, List.of());
    }
    return lookups;
  }

  /** Returns the addresses of a name. */
  synchronized Set<IpAddress> addressesOf(String name) {
    final Set<IpAddress> addresses = new TreeSet<>();
    for (final Kept kept : ofName(name)) {
      kept.lookups.forEach(one -> addresses.addAll(one.addresses()));
    }
    held.addressesOf(name, addresses);
    return addresses;
  }

  /** Returns what each endpoint knows of a name. */
  private Set<Kept> ofName(String name) {
    return names.subSet(
        new Kept(name, Integer.MIN_VALUE, 0), true, new Kept(name, Integer.MAX_VALUE, 0), true);
  }

  /** Returns whether a name has all of these addresses, and still has them at a later time. */
  synchronized boolean has(String name, Collection<IpAddress> addresses, Instant time) {
    final Set<IpAddress> missing = new HashSet<>(addresses);
    for (final Kept kept : ofName(name)) {
      for (final NameLookup one : kept.lookups) {
        if (one.expirationTime().isAfter(time)) {
          one.addresses().forEach(missing::remove);
        }
      }
    }
    return missing.isEmpty();
  }

  /** Returns how many names the endpoints have together. */
  synchronized int size() {
    return names.size();
  }

  /** Returns the addresses of all names. */
  synchronized Map<String, Set<IpAddress>> addresses() {
    final Map<String, Set<IpAddress>> found = new TreeMap<>();
    names.forEach(kept -> found.computeIfAbsent(kept.name, this::addressesOf));
    held.names().forEach(name -> found.computeIfAbsent(name, this::addressesOf));
    return found;
  }

  /**
   * Returns all lookups in the order of their names. Other callers wait for a part of the names at
   * most, since a pause lets them in after each: of what is added, removed or held meanwhile, the
   * list has some, and some twice.
   */
  List<NameLookup> list() {
    final List<NameLookup> lookups = new ArrayList<>();
    for (Kept last = listAfter(new Kept("", 0, 0), lookups); last != null; ) {
      LockSupport.parkNanos(PAUSE_NS);
      last = listAfter(last, lookups);
    }
    final List<NameLookup> some;
    synchronized (this) {
      some = held.all();
    }
    return withHeld(lookups, some);
  }

  /** Adds the lookups of the next names; returns the last of these, null where no other follows. */
  private synchronized Kept listAfter(Kept last, List<NameLookup> lookups) {
    int left = PART;
    for (final Kept next : names.tailSet(last, false)) {
      lookups.addAll(next.lookups);
      left--;
      if (left == 0) {
        return next;
      }
    }
    return null;
  }

  /** Returns the lookups of one endpoint in the order of their names. */
  synchronized List<NameLookup> list(int endpointId) {
    final List<NameLookup> all = new ArrayList<>();
    new TreeMap<>(endpoints.getOrDefault(endpointId, new LinkedHashMap<>()))
        .values()
        .forEach(kept -> all.addAll(kept.lookups));
    return withHeld(
        all, held.all().stream().filter(one -> one.endpointId() == endpointId).toList());
  }

  private static List<NameLookup> withHeld(List<NameLookup> all, List<NameLookup> some) {
    if (!some.isEmpty()) {
      all.addAll(some);
      all.sort(Comparator.comparing(NameLookup::name));
    }
    return all;
  }
}
