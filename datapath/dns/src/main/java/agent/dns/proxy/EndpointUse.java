package agent.dns.proxy;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/** What an endpoint has in use. Used in turn ({@link ProxyLoop}). */
final class EndpointUse {
  final LinkedHashSet<UdpUpstream> idle = new LinkedHashSet<>();
  int questions;
  int sockets;
  int connections;

  private boolean isUnused() {
    return questions == 0 && sockets == 0 && connections == 0;
  }

  /** The uses of all endpoints, and their sum. */
  static final class Table {
    final EndpointUse all = new EndpointUse();
    private final Map<Integer, EndpointUse> endpoints = new HashMap<>();

    EndpointUse of(int endpointId) {
      return endpoints.computeIfAbsent(endpointId, id -> new EndpointUse());
    }

    /** Forgets endpoints that use nothing. */
    void clean() {
      endpoints.values().removeIf(EndpointUse::isUnused);
    }
  }
}
