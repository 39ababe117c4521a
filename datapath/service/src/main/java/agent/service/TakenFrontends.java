package agent.service;

import agent.datapath.spec.ServiceProxy.KeptFrontend;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * The addresses, ports and protocols that services have, each of which one service has. For one
 * thread.
 */
final class TakenFrontends {
  private final Map<Listener, Integer> owners = new HashMap<>();

  /** An address, port and protocol number that a service has taken. */
  record Listener(IpAddress address, int port, int protocol) {}

  private static List<Listener> listenersOf(Service service) {
    final Frontend frontend = service.frontend();
    final List<Listener> listeners = new ArrayList<>();
    for (final int number : frontend.protocol().numbers()) {
      listeners.add(new Listener(frontend.address(), frontend.port(), number));
    }
    return listeners;
  }

  /** Returns the service that has the frontend of this one, or its first part; null for none. */
  Integer ownerOf(Service service) {
    return owners.get(listenersOf(service).getFirst());
  }

  /**
   * Returns the listeners that this call has taken; those that the service has already stay.
   *
   * @param held returns a service; null where there is none
   * @throws Refusal CONFLICT where another service has one of them; none is taken then
   */
  List<Listener> take(Service service, IntFunction<Service> held) {
    final List<Listener> taken = new ArrayList<>();
    for (final Listener listener : listenersOf(service)) {
      final Integer owner = owners.putIfAbsent(listener, service.id());
      if (owner == null) {
        taken.add(listener);
      } else if (owner != service.id()) {
        giveBack(taken);
        throw Refusal.conflict(
            "frontend-address",
            service.frontend()
                + " is already the frontend of service "
                + owner
                + otherSource(held.apply(owner), service.source()));
      }
    }
    return taken;
  }

  private static String otherSource(Service heldOrNull, EntrySource source) {
    return heldOrNull == null || heldOrNull.source().equals(source)
        ? ""
        : " of source '" + heldOrNull.source() + "'";
  }

  /** Adds a frontend that the maps have of a service, unless another one has it. */
  void keep(int id, KeptFrontend frontend) {
    owners.putIfAbsent(new Listener(frontend.address(), frontend.port(), frontend.protocol()), id);
  }

  /** Releases listeners. */
  void giveBack(List<Listener> taken) {
    taken.forEach(owners::remove);
  }

  /** Releases what a service had before a change and does not have after it; null is no service. */
  void release(Service before, Service after) {
    if (before == null || after != null && after.frontend().equals(before.frontend())) {
      return;
    }
    final List<Listener> kept = after == null ? List.of() : listenersOf(after);
    for (final Listener listener : listenersOf(before)) {
      if (!kept.contains(listener)) {
        owners.remove(listener);
      }
    }
  }

  /** Releases all that a service has of which only the number is known. */
  void releaseAll(int id) {
    owners.values().removeIf(owner -> owner == id);
  }
}
