package agent.launcher.process;

import agent.maps.layout.BackendState;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/**
 * A service as its client knows it.
 *
 * @param ip the address of its frontend
 * @param port the port of its frontend
 * @param protocol TCP, UDP or ANY
 * @param affinitySec how long a client keeps its backend, or 0
 * @param backends those that serve it
 */
record CrashService(
    String ip, int port, String protocol, int affinitySec, Set<CrashBackend> backends) {
  /**
   * A backend of a service.
   *
   * @param ip its address
   * @param port its port
   * @param state its state, with the name of the API
   * @param weight its share of new connections
   */
  record CrashBackend(String ip, int port, String state, int weight)
      implements Comparable<CrashBackend> {
    private boolean takesNew() {
      return state.equals("active") && weight > 0;
    }

    private String end() {
      return ip + " port " + port;
    }

    @Override
    public int compareTo(CrashBackend other) {
      return end().compareTo(other.end());
    }
  }

  /** Returns the service that an answer shows. */
  static CrashService of(JsonNode service) {
    final JsonNode spec = service.at("/status/realized");
    final Set<CrashBackend> backends = new TreeSet<>();
    for (final JsonNode backend : spec.get("backend-addresses")) {
      backends.add(
          new CrashBackend(
              backend.get("ip").asString(),
              backend.get("port").asInt(),
              backend.get("state").asString(),
              backend.get("weight").asInt()));
    }
    return new CrashService(
        spec.at("/frontend-address/ip").asString(),
        spec.at("/frontend-address/port").asInt(),
        spec.at("/frontend-address/protocol").asString(),
        spec.at("/flags/affinityTimeoutSeconds").asInt(0),
        backends);
  }

  CrashService withBackends(Set<CrashBackend> others) {
    return new CrashService(ip, port, protocol, affinitySec, others);
  }

  /** Returns the body that asks for it, with further backends. */
  String request(CrashBackend... more) {
    final String all =
        Stream.concat(backends.stream(), Arrays.stream(more))
            .map(
                backend ->
                    "{\"ip\": \"%s\", \"port\": %d, \"state\": \"%s\", \"weight\": %d}"
                        .formatted(backend.ip, backend.port, backend.state, backend.weight))
            .collect(Collectors.joining(", "));
    final String affinity =
        affinitySec == 0
            ? ""
            : ", \"flags\": {\"sessionAffinity\": \"ClientIP\", \"affinityTimeoutSeconds\": "
                + affinitySec
                + "}";
    return "{\"frontend-address\": {\"ip\": \"%s\", \"port\": %d, \"protocol\": \"%s\"},"
            .formatted(ip, port, protocol)
        + " \"backend-addresses\": ["
        + all
        + "]"
        + affinity
        + "}";
  }

  boolean isIpv4() {
    return ip.indexOf(':') < 0;
  }

  /** Returns whether a socket could mean both. */
  boolean overlaps(CrashService other) {
    return ip.equals(other.ip)
        && port == other.port
        && protocols().stream().anyMatch(other.protocols()::contains);
  }

  private List<Integer> protocols() {
    return switch (protocol) {
      case "TCP" -> List.of(6);
      case "UDP" -> List.of(17);
      default -> List.of(6, 17);
    };
  }

  /** Adds the lines of the kernel's maps that it needs. */
  void need(int id, Set<String> lines) {
    final List<CrashBackend> drawn = backends.stream().filter(CrashBackend::takesNew).toList();
    for (final int number : protocols()) {
      lines.add(frontend(ip + " port " + port, number, id, drawn.size(), affinitySec));
    }
    for (int slot = 0; slot < drawn.size(); slot++) {
      lines.add(slot(id, slot));
      lines.add(drawn(id, drawn.get(slot).end()));
    }
    if (drawn.size() > 1) {
      lines.add(table(id));
      drawn.forEach(backend -> lines.add(choice(id, backend.end())));
    }
    for (final CrashBackend backend : backends) {
      final String state = backend.state.toUpperCase(Locale.ROOT);
      lines.add(backend(id, backend.end(), BackendState.valueOf(state).number()));
    }
  }

  static String frontend(String end, int protocol, int id, int slots, int affinitySec) {
    return "frontend %s protocol %d: service %d, %d slots, affinity %d"
        .formatted(end, protocol, id, slots, affinitySec);
  }

  static String slot(int id, int slot) {
    return "service " + id + ": slot " + slot;
  }

  static String drawn(int id, String end) {
    return "service " + id + ": a slot of " + end;
  }

  /** A whole table; how many cells it has depends on the services before. */
  static String table(int id) {
    return "service " + id + ": a table with all of its cells";
  }

  static String choice(int id, String end) {
    return "service " + id + ": a choice of its table is " + end;
  }

  static String backend(int id, String end, int state) {
    return "service " + id + ": backend " + end + " in state " + state;
  }
}
