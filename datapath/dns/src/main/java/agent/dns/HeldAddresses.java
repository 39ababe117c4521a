package agent.dns;

import agent.dns.NameLookup.Source;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Addresses whose lookups are over, and that names keep while connections to them are open. One
 * that comes waits for the result of a search for connections that began after it. Of those that
 * wait, and of those in use, so many stay; of the endpoint that has the most the one that came
 * first goes. Not thread-safe, but for {@link #isPressing}.
 */
final class HeldAddresses {
  /** So many wait for a search, which is due soon where half as many do. */
  static final int MOST_WAITING = 6_000;

  private final int most;
  private final Consumer<String> lost;
  private final HeldShares shares;
  private final HeldQueue waiting = new HeldQueue();
  private final HeldQueue inUse = new HeldQueue();
  private final TreeMap<String, Map<Key, NameLookup>> names = new TreeMap<>();
  private long added;
  private long asked;
  private volatile boolean isPressing;

  /** An address of a name that an endpoint looked up. */
  record Key(String name, int endpointId, IpAddress address) {}

  /**
   * Holds nothing yet.
   *
   * @param most how many addresses in use are held; 0: none is, and none waits
   * @param lost hears of each name that has an address less
   * @param shares hears of what is given up that may be in use
   */
  HeldAddresses(int most, Consumer<String> lost, HeldShares shares) {
    this.most = most;
    this.lost = lost;
    this.shares = shares;
  }

  /** Adds the addresses of a lookup that has expired. */
  void add(NameLookup lookup) {
    if (most == 0) {
      lost.accept(lookup.name());
      return;
    }
    for (final IpAddress address : lookup.addresses()) {
      final Key key = new Key(lookup.name(), lookup.endpointId(), address);
      final Map<Key, NameLookup> ofName =
          names.computeIfAbsent(lookup.name(), name -> new HashMap<>());
      if (!ofName.containsKey(key)) {
        final NameLookup own = lookup.with(List.of(address)).from(Source.CONNECTION);
        ofName.put(key, own);
        waiting.add(key, added++);
      }
    }
    waiting.limit(MOST_WAITING, this::giveUp);
    onChange();
  }

  private void onChange() {
    isPressing = waiting.size() > MOST_WAITING / 2;
    shares.onHeld(waiting.size() + inUse.size());
  }

  private void giveUp(Key key) {
    forget(key);
    shares.onGivenUp(key.endpointId);
  }

  private void forget(Key key) {
    drop(key);
    lost.accept(key.name);
  }

  private void drop(Key key) {
    final Map<Key, NameLookup> ofName = names.get(key.name);
    ofName.remove(key);
    if (ofName.isEmpty()) {
      names.remove(key.name);
    }
  }

  /**
   * Drops the addresses of a lookup that was renewed.
   *
   * @return whether one was held
   */
  boolean release(NameLookup lookup) {
    final Map<Key, NameLookup> ofName = names.get(lookup.name());
    if (ofName == null) {
      return false;
    }
    boolean isHeld = false;
    for (final IpAddress address : lookup.addresses()) {
      final Key key = new Key(lookup.name(), lookup.endpointId(), address);
      if (ofName.containsKey(key)) {
        isHeld = true;
        remove(key);
      }
    }
    onChange();
    return isHeld;
  }

  private void remove(Key key) {
    waiting.remove(key);
    inUse.remove(key);
    drop(key);
  }

  /** Drops some addresses and returns their lookups. */
  List<NameLookup> remove(Predicate<NameLookup> which) {
    final List<NameLookup> removed = all().stream().filter(which).toList();
    for (final NameLookup one : removed) {
      remove(new Key(one.name(), one.endpointId(), one.addresses().getFirst()));
    }
    onChange();
    return removed;
  }

  boolean isPressing() {
    return isPressing;
  }

  /** Begins a search for connections; returns what it is to look for. */
  List<Key> ask() {
    final List<Key> keys = new ArrayList<>(inUse.keys());
    keys.addAll(waiting.keys());
    asked = added;
    return keys;
  }

  /**
   * Applies the result of the last search, for some of what it looked for. What came since is not
   * judged by it.
   */
  void found(List<Key> some, Set<IpAddress> used) {
    for (final Key key : some) {
      if (inUse.contains(key)) {
        if (!used.contains(key.address)) {
          inUse.remove(key);
          forget(key);
        }
      } else if (waiting.contains(key) && waiting.number(key) < asked) {
        final long number = waiting.number(key);
        waiting.remove(key);
        if (used.contains(key.address)) {
          inUse.add(key, number);
        } else {
          forget(key);
        }
      }
    }
    inUse.limit(most, this::giveUp);
    onChange();
  }

  /** Adds the addresses of a name to others. */
  void addressesOf(String name, Set<IpAddress> addresses) {
    names.getOrDefault(name, Map.of()).keySet().forEach(key -> addresses.add(key.address));
  }

  /** Returns the names that have addresses here. */
  Set<String> names() {
    return names.keySet();
  }

  /** Returns a lookup for each address. */
  List<NameLookup> all() {
    return names.values().stream().flatMap(ofName -> ofName.values().stream()).toList();
  }
}
