package agent.launcher;

import agent.contract.endpoint.EndpointPolicyModel.Counts;
import agent.contract.endpoint.EndpointPolicyModel.ProxyStatistics;
import agent.contract.endpoint.EndpointPolicyModel.Statistics;
import agent.domain.proxy.NodeProxies;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.PolicyRedirect;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import agent.policy.request.RequestPolicies;
import agent.server.view.ProxyView;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Encodes the redirects of endpoints and the messages of each. A redirect of a range of ports is
 * shown by its first port, and by each of its ports that has had a flow.
 */
final class ProxyTraffic implements ProxyView {
  private final NodeProxies proxies;
  private final RequestPolicies policies;

  private record Key(PolicyDirection direction, int port, RedirectKind kind) {
    static final Comparator<Key> ORDER =
        Comparator.comparing(Key::direction).thenComparing(Key::port).thenComparing(Key::kind);
  }

  ProxyTraffic(NodeProxies proxies, RequestPolicies policies) {
    this.proxies = proxies;
    this.policies = policies;
  }

  @Override
  public EndpointTraffic of(int endpointId) {
    final Map<Key, RedirectStatistics> shown = new TreeMap<>(Key.ORDER);
    final Set<RedirectKind> kinds = EnumSet.noneOf(RedirectKind.class);
    for (final PolicyRedirect redirect : policies.redirects(endpointId)) {
      kinds.add(redirect.kind());
      add(
          shown,
          redirect.kind(),
          new RedirectStatistics(
              redirect.direction(), redirect.firstPort(), Messages.NONE, Messages.NONE));
    }
    proxies
        .report(endpointId)
        .redirects()
        .forEach((kind, counted) -> counted.forEach(one -> add(shown, kind, one)));
    return shown.isEmpty()
        ? EndpointTraffic.NONE
        : new EndpointTraffic(
            kinds.isEmpty() || !proxies.serves(kinds) ? 0 : policies.revision(),
            shown.entrySet().stream().map(this::encode).toList());
  }

  private static void add(
      Map<Key, RedirectStatistics> shown, RedirectKind kind, RedirectStatistics redirect) {
    shown.put(new Key(redirect.direction(), redirect.port(), kind), redirect);
  }

  private ProxyStatistics encode(Map.Entry<Key, RedirectStatistics> redirect) {
    final Key key = redirect.getKey();
    final RedirectStatistics counted = redirect.getValue();
    return new ProxyStatistics(
        proxies.firstPort(key.kind()).orElse(null),
        key.direction().name().toLowerCase(Locale.ROOT),
        key.port(),
        key.kind().name().toLowerCase(Locale.ROOT),
        new Statistics(counts(counted.requests()), counts(counted.responses())));
  }

  private static Counts counts(Messages messages) {
    return new Counts(
        messages.denied(), messages.error(), messages.forwarded(), messages.received());
  }
}
