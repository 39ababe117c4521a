package agent.endpoint;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The live endpoints by id. They are the conductor's; their last pictures are everybody's, and are
 * read without waiting.
 */
final class EndpointRegistry {
  private final SortedMap<Integer, Endpoint> live = new TreeMap<>();
  private final ConcurrentNavigableMap<Integer, EndpointSnapshot> published =
      new ConcurrentSkipListMap<>();
  private final EndpointSnapshots snapshots;
  private final EndpointLookup lookup;
  private int lastId;

  EndpointRegistry(EndpointSnapshots snapshots, EndpointLookup lookup) {
    this.snapshots = snapshots;
    this.lookup = lookup;
  }

  /**
   * A free id: the next one after the last that was given, so that an id that was freed rests for
   * as long as possible.
   */
  int freeId() {
    for (int i = 1; i <= EndpointIdentifier.MAX_LOCAL_ID; i++) {
      final int id = (lastId + i - 1) % EndpointIdentifier.MAX_LOCAL_ID + 1;
      if (!live.containsKey(id)) {
        return id;
      }
    }
    throw Refusal.exhausted("id", "all " + EndpointIdentifier.MAX_LOCAL_ID + " ids are in use");
  }

  void add(Endpoint endpoint) {
    live.put(endpoint.id(), endpoint);
    lastId = endpoint.id();
    publish(endpoint);
  }

  void remove(Endpoint endpoint) {
    live.remove(endpoint.id());
    published.remove(endpoint.id());
  }

  /** As if it had never been added; that it was not is no failure. */
  void forget(int id) {
    live.remove(id);
    published.remove(id);
  }

  boolean holds(Endpoint endpoint) {
    return live.get(endpoint.id()) == endpoint;
  }

  Endpoint find(int id) {
    return live.get(id);
  }

  /** The live endpoints by id; a copy, so that they may come and go meanwhile. */
  List<Endpoint> all() {
    return new ArrayList<>(live.values());
  }

  /** Shows the endpoint as it is now, and returns the picture. */
  EndpointSnapshot publish(Endpoint endpoint) {
    final EndpointSnapshot snapshot = snapshots.of(endpoint);
    if (holds(endpoint)) {
      published.put(endpoint.id(), snapshot);
    }
    return snapshot;
  }

  /** The pictures by id, from any thread. */
  Collection<EndpointSnapshot> published() {
    return published.values();
  }

  /**
   * The picture of one endpoint, from any thread.
   *
   * @throws Refusal NOT_FOUND
   */
  EndpointSnapshot get(EndpointIdentifier identifier) {
    return find(identifier)
        .orElseThrow(() -> Refusal.notFound("id", "there is no endpoint " + identifier));
  }

  Optional<EndpointSnapshot> find(EndpointIdentifier identifier) {
    if (identifier.kind() == EndpointIdentifier.Kind.AGENT_LOCAL) {
      return Optional.ofNullable(published.get(identifier.localId()));
    }
    return published.values().stream().filter(s -> lookup.matches(identifier, s)).findFirst();
  }

  /**
   * The live endpoint that the identifier names, on the conductor's thread.
   *
   * @throws Refusal NOT_FOUND
   */
  Endpoint require(EndpointIdentifier identifier) {
    return live.get(get(identifier).id());
  }
}
