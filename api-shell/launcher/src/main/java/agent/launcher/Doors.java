package agent.launcher;

import agent.endpoint.PolicyService;
import agent.identity.IdentityAllocator;
import agent.launcher.view.DaemonStatus;
import agent.launcher.view.DomainMetricSource;
import agent.launcher.view.ProcessMetricSource;
import agent.launcher.view.StartedParts;
import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.policy.spec.RuleSpec;
import agent.server.RouteTable;
import agent.server.handler.DaemonHandlers;
import agent.server.handler.EndpointHandlers;
import agent.server.handler.IdentityHandlers;
import agent.server.handler.IpamHandlers;
import agent.server.handler.MapHandlers;
import agent.server.handler.PolicyHandlers;
import agent.server.handler.PrefilterHandlers;
import agent.server.metrics.DatapathMetricSource;
import agent.server.metrics.MetricRegistry;
import agent.server.view.PolicyView;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The API's routes on the daemon's parts. */
final class Doors {
  private final DaemonStatus status;
  private final MetricRegistry metrics = new MetricRegistry();
  private final DaemonHandlers daemon;

  Doors(DaemonStatus status) {
    this.status = status;
    metrics.add(new ProcessMetricSource());
    daemon = new DaemonHandlers(status, metrics);
  }

  /** What is answered until everything is there. */
  RouteTable whileStarting() {
    return RouteTable.starting(daemon);
  }

  /** All routes. */
  RouteTable open(StartedParts parts, IdentityAllocator identities) {
    metrics.add(
        new DatapathMetricSource(
            parts.datapath().metrics(), parts.datapath().events(), parts.datapath()::status));
    metrics.add(new DomainMetricSource(parts, identities));
    status.ready(parts);
    return RouteTable.of(
        daemon,
        new EndpointHandlers(parts.endpoints()),
        new IdentityHandlers(identities),
        new IpamHandlers(parts.ipam(), parts.addressing()),
        new PolicyHandlers(new PolicyDoor(parts.policy())),
        new PrefilterHandlers(parts.datapath().prefilter()),
        new MapHandlers(parts.datapath().mirrors()));
  }

  private record PolicyDoor(PolicyService policy) implements PolicyView {
    @Override
    public PolicySnapshot rules(List<String> labels) {
      return policy.get(labels);
    }

    @Override
    public CompletableFuture<PolicySnapshot> add(List<RuleSpec> rules) {
      return policy.importRules(rules);
    }

    @Override
    public CompletableFuture<PolicySnapshot> delete(List<String> labels) {
      return policy.deleteRules(labels);
    }

    @Override
    public List<SelectorListing> selectors() {
      return policy.selectors();
    }
  }
}
