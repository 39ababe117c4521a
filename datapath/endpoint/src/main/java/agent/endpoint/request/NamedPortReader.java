package agent.endpoint.request;

import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.policy.spec.NamedPort;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Checks the named ports of a request. */
final class NamedPortReader {
  private static final String FIELD = "named-ports";
  private static final int MOST = 256;
  private static final int HIGHEST = 65535;
  private static final Set<String> PROTOCOLS = Set.of("TCP", "UDP", "SCTP");

  private NamedPortReader() {}

  /** Returns the ports in order, none for null; refuses a name that a protocol has twice. */
  static List<NamedPort> read(List<RequestedPort> requested) {
    if (requested == null) {
      return List.of();
    }
    if (requested.size() > MOST) {
      throw Refusal.invalid(FIELD, "has " + requested.size() + " ports, the limit is " + MOST);
    }
    final List<NamedPort> ports = new ArrayList<>();
    final Set<String> names = new HashSet<>();
    for (int i = 0; i < requested.size(); i++) {
      final String field = FIELD + "[" + i + "]";
      final NamedPort port = read(field, requested.get(i));
      if (!names.add(port.name() + "/" + port.protocol())) {
        throw Refusal.invalid(
            field + ".name", "duplicate port name '" + port.name() + "' for " + port.protocol());
      }
      ports.add(port);
    }
    ports.sort(
        Comparator.comparing((NamedPort port) -> port.name()).thenComparing(NamedPort::protocol));
    return List.copyOf(ports);
  }

  private static NamedPort read(String field, RequestedPort requested) {
    final String text = present(field + ".name", requested.name());
    final String name =
        NamedPort.name(text)
            .orElseThrow(
                () ->
                    Refusal.invalid(
                        field + ".name",
                        "'" + text + "' is not a valid service name (RFC 6335 section 5.1)"));
    final int port = present(field + ".port", requested.port());
    if (port < 1 || port > HIGHEST) {
      throw Refusal.invalid(field + ".port", "'" + port + "' is not a number from 1 to " + HIGHEST);
    }
    final String asked = requested.protocol() == null ? "TCP" : requested.protocol();
    final String protocol = asked.toUpperCase(Locale.ROOT);
    if (!PROTOCOLS.contains(protocol)) {
      throw Refusal.invalid(field + ".protocol", "'" + asked + "' is not one of TCP, UDP, SCTP");
    }
    return new NamedPort(name, port, protocol);
  }

  private static <T> T present(String field, T value) {
    if (value == null) {
      throw Refusal.invalid(field, "is missing");
    }
    return value;
  }
}
