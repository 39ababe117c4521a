package agent.endpoint.state;

import agent.datapath.spec.EndpointFaults;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The live endpoints by id. Only the conductor's thread uses the endpoints; any thread may read
 * their latest snapshots without waiting.
 */
public final class EndpointRegistry {
  private final SortedMap<Integer, Endpoint> live = new TreeMap<>();
  private final SortedMap<Integer, EndpointRecord> reserved = new TreeMap<>();
  private final ConcurrentNavigableMap<Integer, EndpointSnapshot> published =
      new ConcurrentSkipListMap<>();
  private final EndpointSnapshots snapshots;
  private final EndpointLookup lookup;
  private final EndpointFaults faults;
  private final Consumer<EndpointSnapshot> observer;
  private final AtomicLong version = new AtomicLong();
  private int lastId;
  private int membership;

  /**
   * Creates an empty registry.
   *
   * @param faults the faults of kernel objects, which every read adds to the health
   * @param observer receives each snapshot that is published, on the conductor's thread
   */
  public EndpointRegistry(
      EndpointSnapshots snapshots,
      EndpointLookup lookup,
      EndpointFaults faults,
      Consumer<EndpointSnapshot> observer) {
    this.observer = observer;
    this.snapshots = snapshots;
    this.lookup = lookup;
    this.faults = faults;
  }

  /**
   * Returns a free id: the next one after the last assigned id, so that a released id is reused as
   * late as possible.
   *
   * @throws Refusal EXHAUSTED where all ids are in use
   */
  public int freeId() {
    for (int i = 1; i <= EndpointIdentifier.MAX_LOCAL_ID; i++) {
      final int id = (lastId + i - 1) % EndpointIdentifier.MAX_LOCAL_ID + 1;
      if (!isTaken(id)) {
        return id;
      }
    }
    throw Refusal.exhausted("id", "all " + EndpointIdentifier.MAX_LOCAL_ID + " ids are in use");
  }

  /**
   * Keeps the id, the names, the interface and the addresses of a record that is being stored,
   * until its endpoint is added or the record is released: no other endpoint gets them, and no
   * reader sees it.
   */
  public void reserve(EndpointRecord record) {
    reserved.put(record.id(), record);
  }

  /** Forgets a reserved record that could not be stored. */
  public void release(EndpointRecord record) {
    reserved.remove(record.id(), record);
  }

  /** Returns whether a live endpoint or a reserved record has this id. */
  public boolean isTaken(int id) {
    return live.containsKey(id) || reserved.containsKey(id);
  }

  /** Returns how many live endpoints and reserved records there are. */
  public int count() {
    return live.size() + reserved.size();
  }

  /** Returns the records of the live endpoints, and the reserved ones. */
  public List<EndpointRecord> records() {
    final List<EndpointRecord> all = new ArrayList<>(reserved.values());
    live.values().forEach(endpoint -> all.add(endpoint.record()));
    return all;
  }

  /** Returns the record of a live endpoint, or a reserved one, that the identifier names. */
  public Optional<EndpointRecord> recordOf(EndpointIdentifier identifier) {
    return find(identifier)
        .map(found -> live.get(found.id()).record())
        .or(
            () ->
                reserved.values().stream()
                    .filter(
                        each -> lookup.matches(identifier, each.id(), each.externalIdentifiers()))
                    .findFirst());
  }

  /** Adds an endpoint and publishes its snapshot. */
  public void add(Endpoint endpoint) {
    reserved.remove(endpoint.id());
    live.put(endpoint.id(), endpoint);
    membership++;
    lastId = endpoint.id();
    publish(endpoint);
  }

  /** Removes an endpoint and its snapshot. */
  public void remove(Endpoint endpoint) {
    live.remove(endpoint.id());
    membership++;
    published.remove(endpoint.id());
    version.incrementAndGet();
  }

  /** Returns a number that changes whenever an endpoint is added or removed. */
  public int membership() {
    return membership;
  }

  /** Returns whether this endpoint is live. */
  public boolean holds(Endpoint endpoint) {
    return live.get(endpoint.id()) == endpoint;
  }

  /** Returns the live endpoint with this id, or null. */
  public Endpoint find(int id) {
    return live.get(id);
  }

  /**
   * Returns a copy of the live endpoints by id, so that the caller may add and remove endpoints.
   */
  public List<Endpoint> all() {
    return new ArrayList<>(live.values());
  }

  /** Returns the live endpoint that has this address, or null. */
  public Endpoint findByAddress(IpAddress address) {
    for (final Endpoint endpoint : live.values()) {
      if (address.equals(endpoint.record().addressing().ipv4())
          || address.equals(endpoint.record().addressing().ipv6())) {
        return endpoint;
      }
    }
    return null;
  }

  /** Publishes a snapshot of the endpoint and returns it. */
  public EndpointSnapshot publish(Endpoint endpoint) {
    final EndpointSnapshot snapshot = snapshots.of(endpoint);
    if (holds(endpoint)) {
      published.put(endpoint.id(), snapshot);
      version.incrementAndGet();
      observer.accept(snapshot);
    }
    return withFaults(snapshot);
  }

  /** Adds the faults that exist now in the kernel objects of the endpoint. */
  private EndpointSnapshot withFaults(EndpointSnapshot snapshot) {
    if (snapshot.health().overall() == HealthLevel.DISABLED) {
      return snapshot;
    }
    EndpointHealth health = snapshot.health();
    for (final Fault fault : faults.of(snapshot.id())) {
      health = health.with(fault);
    }
    return health.equals(snapshot.health()) ? snapshot : snapshot.withHealth(health);
  }

  /** Returns a number that rises after each change of what is published. Thread-safe. */
  public long version() {
    return version.get();
  }

  /** Returns the snapshots by id. Thread-safe. */
  public List<EndpointSnapshot> published() {
    return published.values().stream().map(this::withFaults).toList();
  }

  /**
   * Returns the snapshot of one endpoint. Thread-safe.
   *
   * @throws Refusal NOT_FOUND
   */
  public EndpointSnapshot get(EndpointIdentifier identifier) {
    return find(identifier)
        .orElseThrow(() -> Refusal.notFound("id", "endpoint " + identifier + " does not exist"));
  }

  /** Returns the snapshot of one endpoint, or empty. Thread-safe. */
  public Optional<EndpointSnapshot> find(EndpointIdentifier identifier) {
    final Optional<EndpointSnapshot> found =
        identifier.kind() == EndpointIdentifier.Kind.AGENT_LOCAL
            ? Optional.ofNullable(published.get(identifier.localId()))
            : published.values().stream().filter(s -> lookup.matches(identifier, s)).findFirst();
    return found.map(this::withFaults);
  }

  /**
   * Returns the live endpoint that the identifier names. Runs on the conductor's thread.
   *
   * @throws Refusal NOT_FOUND
   */
  public Endpoint require(EndpointIdentifier identifier) {
    return live.get(get(identifier).id());
  }
}
