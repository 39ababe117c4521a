package agent.launcher;

import agent.contract.daemon.DaemonStatusModel.Proxy;
import agent.contract.daemon.DaemonStatusModel.Redirect;
import agent.datapath.spec.RedirectProxy;
import agent.domain.proxy.NodeProxies;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointSnapshot;
import agent.maps.layout.RedirectKind;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RequestPolicies;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Encodes the proxies that listen, and the ports of endpoints that go through them. */
final class ProxyStatus implements Supplier<Proxy> {
  private static final int TCP = 6;
  private static final int UDP = 17;

  private final NodeProxies proxies;
  private final Supplier<Map<Integer, List<PolicyRedirect>>> redirects;

  /**
   * Creates the encoder.
   *
   * @param redirects returns the redirects of all endpoints by their id, in ascending order
   */
  ProxyStatus(NodeProxies proxies, Supplier<Map<Integer, List<PolicyRedirect>>> redirects) {
    this.proxies = proxies;
    this.redirects = redirects;
  }

  /** Returns the encoder of what policy says of the endpoints of a node. */
  static ProxyStatus of(NodeProxies proxies, Endpoints endpoints, RequestPolicies policies) {
    return new ProxyStatus(
        proxies,
        () -> {
          final Map<Integer, List<PolicyRedirect>> redirects = new LinkedHashMap<>();
          for (final EndpointSnapshot endpoint : endpoints.list(List.of())) {
            redirects.put(endpoint.id(), policies.redirects(endpoint.id()));
          }
          return redirects;
        });
  }

  @Override
  public Proxy get() {
    final Map<RedirectKind, Integer> firstPorts = new EnumMap<>(RedirectKind.class);
    for (final RedirectKind kind : RedirectKind.values()) {
      proxies.firstPort(kind).ifPresent(port -> firstPorts.put(kind, port));
    }
    final List<Redirect> shown = new ArrayList<>();
    redirects
        .get()
        .forEach((id, all) -> all.forEach(one -> shown.add(redirect(id, one, firstPorts))));
    final boolean isOff = firstPorts.isEmpty();
    return new Proxy(
        isOff ? "Disabled" : "embedded",
        isOff ? null : address().orElse(null),
        isOff
            ? null
            : firstPorts.values().stream().map(ProxyStatus::range).collect(Collectors.joining(",")),
        shown,
        (long) firstPorts.size() * RedirectProxy.PORTS,
        (long) shown.size());
  }

  private Optional<String> address() {
    return proxies.address().map(Object::toString);
  }

  private static String range(int firstPort) {
    return firstPort + "-" + (firstPort + RedirectProxy.PORTS - 1);
  }

  private static Redirect redirect(
      int endpointId, PolicyRedirect redirect, Map<RedirectKind, Integer> firstPorts) {
    final String ports =
        redirect.firstPort() == redirect.lastPort()
            ? Integer.toString(redirect.firstPort())
            : redirect.firstPort() + "-" + redirect.lastPort();
    return new Redirect(
        "%d:%s:%s:%s"
            .formatted(
                endpointId,
                redirect.direction().name().toLowerCase(Locale.ROOT),
                protocol(redirect.protocol()),
                ports),
        redirect.kind().name().toLowerCase(Locale.ROOT),
        firstPorts.get(redirect.kind()));
  }

  private static String protocol(int number) {
    return switch (number) {
      case TCP -> "TCP";
      case UDP -> "UDP";
      default -> Integer.toString(number);
    };
  }
}
