package agent.dns;

import agent.dns.HeldAddresses.Key;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Addresses of names in the order in which they came, with a number each. Where they are too many,
 * the endpoint that has the most gives up the one that came first of its own: what one endpoint
 * adds takes nothing from those that have fewer. Not thread-safe.
 */
final class HeldQueue {
  private final Map<Integer, Share> shares = new HashMap<>();

  /** The endpoint that gives up an address next is first. */
  private final TreeSet<Share> byLength =
      new TreeSet<>(
          Comparator.comparingInt(Share::length)
              .reversed()
              .thenComparingLong(Share::firstNumber)
              .thenComparingInt(Share::endpointId));

  private int size;

  /** The addresses of an endpoint; while in a sorted set, they do not change. */
  private record Share(int endpointId, LinkedHashMap<Key, Long> numbers) {
    int length() {
      return numbers.size();
    }

    long firstNumber() {
      return numbers.firstEntry().getValue();
    }
  }

  int size() {
    return size;
  }

  boolean contains(Key key) {
    final Share share = shares.get(key.endpointId());
    return share != null && share.numbers.containsKey(key);
  }

  /** Returns the number of an address that is here. */
  long number(Key key) {
    return shares.get(key.endpointId()).numbers.get(key);
  }

  /** Adds an address that is not here. */
  void add(Key key, long number) {
    final Share share =
        shares.computeIfAbsent(key.endpointId(), id -> new Share(id, new LinkedHashMap<>()));
    if (share.length() > 0) {
      byLength.remove(share);
    }
    share.numbers.put(key, number);
    byLength.add(share);
    size++;
  }

  /** Removes an address, if it is here. */
  void remove(Key key) {
    if (!contains(key)) {
      return;
    }
    final Share share = shares.get(key.endpointId());
    byLength.remove(share);
    share.numbers.remove(key);
    if (share.length() > 0) {
      byLength.add(share);
    } else {
      shares.remove(key.endpointId());
    }
    size--;
  }

  /** Removes as many as there are too many, and tells each. */
  void limit(int most, Consumer<Key> removed) {
    while (size > most) {
      final Key first = byLength.first().numbers.firstEntry().getKey();
      remove(first);
      removed.accept(first);
    }
  }

  /** Returns all addresses, those of an endpoint in the order in which they came. */
  List<Key> keys() {
    final List<Key> keys = new ArrayList<>(size);
    shares.values().forEach(share -> keys.addAll(share.numbers.keySet()));
    return keys;
  }
}
