package agent.service;

import agent.types.Refusal;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** The services that are in force and on the disk, by id. Thread-safe. */
final class HeldServices {
  private final Map<Integer, Service> services = new ConcurrentSkipListMap<>();
  private final Map<Integer, String> unreadable = new ConcurrentHashMap<>();

  /** Returns all of them by id. */
  Collection<Service> all() {
    return services.values();
  }

  /** Returns a service; null where there is none, or its record cannot be read. */
  Service at(int id) {
    return services.get(id);
  }

  /**
   * Returns a service.
   *
   * @throws Refusal UNAVAILABLE where its record cannot be read
   */
  Optional<Service> find(int id) {
    checkReadable(id);
    return Optional.ofNullable(at(id));
  }

  /** Throws Refusal UNAVAILABLE where the record of a service cannot be read. */
  void checkReadable(int id) {
    final String reason = unreadable.get(id);
    if (reason != null) {
      throw Refusal.unavailable("id", "service " + id + ": " + reason);
    }
  }

  /** Returns that there is no such service. */
  static Refusal missing(int id) {
    return Refusal.notFound("id", "service " + id + " does not exist");
  }

  /** Returns why records cannot be read, by id. */
  Map<Integer, String> unreadable() {
    return unreadable;
  }

  void put(Service service) {
    services.put(service.id(), service);
  }

  void remove(int id) {
    unreadable.remove(id);
    services.remove(id);
  }
}
