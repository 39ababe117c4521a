package agent.launcher.view;

import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.identity.IdentityAllocator;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Metrics of the domain: endpoints by state, identities, leases, policy revision, names. */
public final class DomainMetricSource implements MetricRegistry.Source {
  private final StartedParts parts;
  private final IdentityAllocator identities;

  /**
   * Creates the source.
   *
   * @param parts the daemon's parts
   * @param identities the identities of the node
   */
  public DomainMetricSource(StartedParts parts, IdentityAllocator identities) {
    this.parts = parts;
    this.identities = identities;
  }

  @Override
  public List<MetricFamily> collect() {
    final Map<EndpointState, Integer> byState = new EnumMap<>(EndpointState.class);
    for (final EndpointSnapshot endpoint : parts.endpoints().list(List.of())) {
      byState.merge(endpoint.state(), 1, Integer::sum);
    }
    return List.of(
        new MetricFamily(
            "agent_endpoints",
            "Endpoints, by state",
            MetricFamily.Type.GAUGE,
            byState.entrySet().stream()
                .map(
                    entry ->
                        new MetricFamily.Sample(
                            Map.of("state", entry.getKey().text()), entry.getValue()))
                .toList()),
        MetricFamily.gauge(
            "agent_identities_in_use", "Identities in use by endpoints", identities.inUse().size()),
        MetricFamily.gauge(
            "agent_ipam_leases", "Allocated addresses", parts.ipam().leases().size()),
        MetricFamily.gauge(
            "agent_policy_revision",
            "Revision of the policy",
            parts.policy().get(List.of()).revision()),
        MetricFamily.gauge(
            "agent_held_addresses",
            "Expired addresses of names that connections may still use",
            parts.names().heldShares().held()),
        MetricFamily.counter(
            "agent_held_addresses_given_up_total",
            "Expired addresses dropped because an endpoint exceeded its share",
            parts.names().heldShares().givenUp()));
  }
}
