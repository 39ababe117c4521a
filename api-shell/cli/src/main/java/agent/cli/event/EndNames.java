package agent.cli.event;

import agent.cli.call.Invocation;
import agent.cli.command.EndpointCommands;
import agent.cli.command.ServiceCommands;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.MonitorClient;
import agent.client.MonitorEvent.End;
import agent.client.RequestPath;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Names of addresses, identities and services, as the agent knows them. Those of addresses and
 * identities are read again when one is met that is not known, but not more than once a second.
 */
final class EndNames {
  private static final long PAUSE_NS = 1_000_000_000;
  private static final long SERVICE_PAUSE_NS = 10 * PAUSE_NS;

  private final Invocation call;
  private final Map<InetAddress, Endpoint> endpoints = new HashMap<>();
  private final Map<Long, List<String>> identities = new HashMap<>();
  private final Map<Long, Service> services = new HashMap<>();
  private long loadedNs;

  /** The endpoint that has an address. */
  record Endpoint(long id, String name) {}

  /** What the agent said of a service, which may have another name later. */
  private record Service(String name, long askedNs) {}

  EndNames(Invocation call) {
    this.call = call;
  }

  void load() throws IOException {
    loadedNs = System.nanoTime();
    endpoints.clear();
    identities.clear();
    for (final Object endpoint : Tree.list(call.tree(RequestPath.of("endpoint")))) {
      final Object name = EndpointCommands.name(endpoint);
      final Endpoint found =
          new Endpoint(
              Long.parseLong(Tree.text(endpoint, "id")), name == null ? null : name.toString());
      for (final String family : List.of("ipv4", "ipv6")) {
        final Object address = EndpointCommands.address(endpoint, family);
        if (address != null && !address.toString().isEmpty()) {
          endpoints.put(MonitorClient.address(address.toString()), found);
        }
      }
    }
    for (final Object identity : Tree.list(call.tree(RequestPath.of("identity")))) {
      identities.put(
          Long.parseLong(Tree.text(identity, "id")),
          Tree.list(identity, "labels").stream()
              .map(Object::toString)
              .collect(Collectors.toList()));
    }
  }

  /** Returns the endpoint that has the address, or null. */
  Endpoint endpoint(InetAddress address) {
    return endpoints.get(address);
  }

  /** Returns the labels of an identity; none where it has none or is not known. */
  List<String> labels(long identity) {
    if (identity != 0 && !identities.containsKey(identity)) {
      loadAgain();
    }
    return identities.getOrDefault(identity, List.of());
  }

  /** Returns the name of an end, or its labels, or its identity; null where none is known. */
  String name(End end) {
    final Endpoint endpoint = endpoint(end.address());
    if (endpoint != null && endpoint.name() != null) {
      return Text.oneLine(endpoint.name());
    }
    final List<String> labels = labels(end.identity());
    if (!labels.isEmpty()) {
      return Text.oneLine(String.join(",", labels));
    }
    return end.identity() == 0 ? null : "identity " + end.identity();
  }

  /** Returns the name of a service, or null: it has none, or is gone. */
  String service(long id) {
    final Service known = services.get(id);
    if (known != null && System.nanoTime() - known.askedNs() < SERVICE_PAUSE_NS) {
      return known.name();
    }
    String name = null;
    try {
      final Object flags =
          Tree.at(call.tree(RequestPath.of("service", Long.toString(id))), "spec", "flags");
      name = ServiceCommands.name(flags);
    } catch (IOException gone) {
      // shown by its number
    }
    services.put(id, new Service(name, System.nanoTime()));
    return name;
  }

  /** What is shown goes on without a name where the agent does not answer. */
  private void loadAgain() {
    if (System.nanoTime() - loadedNs >= PAUSE_NS) {
      try {
        load();
      } catch (IOException unanswered) {
        loadedNs = System.nanoTime();
      }
    }
  }
}
