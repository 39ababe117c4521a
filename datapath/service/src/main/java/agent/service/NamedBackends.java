package agent.service;

import agent.types.IpAddress;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * The addresses of the backends of all services that have a name: several services of one name are
 * its ports and families. Thread-safe.
 */
final class NamedBackends {
  private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

  private final Map<ServiceName, Map<Integer, Set<IpAddress>>> names = new HashMap<>();
  private final Map<Integer, Set<ServiceName>> services = new HashMap<>();
  private Services.Follower follower = changed -> DONE;

  /** Sets who uses the addresses. */
  synchronized void follow(Services.Follower value) {
    follower = value;
  }

  /** Returns all of them. */
  synchronized Map<ServiceName, Set<IpAddress>> all() {
    final Map<ServiceName, Set<IpAddress>> all = new HashMap<>();
    names.forEach((name, sharing) -> all.put(name, addressesOf(sharing.values())));
    return all;
  }

  /**
   * Replaces the backends of a service.
   *
   * @param id of the service
   * @param states the service before and after a change that is not in force yet, or as it is; null
   *     where there is none
   * @return completes when the follower uses them; changes reach it in the order of the calls
   */
  synchronized CompletableFuture<Void> set(int id, Service... states) {
    final Map<ServiceName, Set<IpAddress>> now = new HashMap<>();
    for (final Service state : states) {
      if (state != null && state.name() != null) {
        final Set<IpAddress> addresses = now.computeIfAbsent(nameOf(state), any -> new TreeSet<>());
        state.backends().forEach(backend -> addresses.add(backend.address()));
      }
    }
    if (now.isEmpty() && !services.containsKey(id)) {
      return DONE; // it has no name and had none
    }
    final Set<ServiceName> affected = new HashSet<>(services.getOrDefault(id, Set.of()));
    affected.addAll(now.keySet());
    final Map<ServiceName, Set<IpAddress>> changed = new HashMap<>();
    for (final ServiceName name : affected) {
      final Set<IpAddress> before = addressesOf(name);
      set(name, id, now.get(name));
      final Set<IpAddress> after = addressesOf(name);
      if (!after.equals(before)) {
        changed.put(name, after);
      }
    }
    services.put(id, now.keySet());
    if (now.isEmpty()) {
      services.remove(id);
    }
    return changed.isEmpty() ? DONE : follower.follow(changed);
  }

  private void set(ServiceName name, int id, Set<IpAddress> addressesOrNull) {
    final Map<Integer, Set<IpAddress>> sharing =
        names.computeIfAbsent(name, any -> new HashMap<>());
    if (addressesOrNull != null) {
      sharing.put(id, addressesOrNull);
    } else {
      sharing.remove(id);
      if (sharing.isEmpty()) {
        names.remove(name);
      }
    }
  }

  private static ServiceName nameOf(Service service) {
    return new ServiceName(service.name(), service.namespace() == null ? "" : service.namespace());
  }

  private Set<IpAddress> addressesOf(ServiceName name) {
    final Map<Integer, Set<IpAddress>> sharing = names.get(name);
    return sharing == null ? Set.of() : addressesOf(sharing.values());
  }

  private static Set<IpAddress> addressesOf(Collection<Set<IpAddress>> sharing) {
    if (sharing.size() == 1) { // most names are of one service
      return sharing.iterator().next();
    }
    final Set<IpAddress> addresses = new TreeSet<>();
    sharing.forEach(addresses::addAll);
    return addresses;
  }
}
