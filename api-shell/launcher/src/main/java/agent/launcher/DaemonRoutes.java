package agent.launcher;

import agent.identity.CidrIdentityAllocator;
import agent.identity.IdentityAllocator;
import agent.l7proxy.EscapedSlashes;
import agent.launcher.view.ConfigurationView;
import agent.launcher.view.DaemonStatus;
import agent.launcher.view.DomainMetricSource;
import agent.launcher.view.ProcessDebugView;
import agent.launcher.view.ProcessMetricSource;
import agent.launcher.view.StartedParts;
import agent.server.RouteTable;
import agent.server.handler.ConfigurationHandlers;
import agent.server.handler.DaemonHandlers;
import agent.server.handler.DebugHandlers;
import agent.server.handler.DocumentHandler;
import agent.server.handler.EndpointHandlers;
import agent.server.handler.FqdnHandlers;
import agent.server.handler.IdentityHandlers;
import agent.server.handler.IpamHandlers;
import agent.server.handler.MapHandlers;
import agent.server.handler.NodeHandlers;
import agent.server.handler.PolicyHandlers;
import agent.server.handler.PrefilterHandlers;
import agent.server.handler.ServiceHandlers;
import agent.server.metrics.AgentThreadMetricSource;
import agent.server.metrics.DatapathMetricSource;
import agent.server.metrics.MetricRegistry;
import agent.server.metrics.RepairMetricSource;
import agent.server.metrics.ServiceMetricSource;
import agent.server.view.ProxyView;
import java.util.Optional;
import java.util.function.Supplier;

/** Connects the routes of the API, and the metrics, with the parts of the daemon. */
final class DaemonRoutes {
  private final DaemonStatus status;
  private final MetricRegistry metrics = new MetricRegistry();
  private final DaemonHandlers daemon;
  private final String self;
  private final boolean keepsSlashes;
  private ProxyView proxies;
  private Supplier<Optional<String>> proxyProcess = Optional::empty;

  /**
   * Creates the routes of a daemon that is starting.
   *
   * @param configuration the configuration that the daemon was started with
   * @param slashes what the HTTP proxy does with escaped slashes
   */
  DaemonRoutes(ConfigurationView configuration, EscapedSlashes slashes) {
    status = new DaemonStatus(configuration, Version.number());
    self = configuration.self();
    keepsSlashes = slashes == EscapedSlashes.KEEP;
    metrics.add(new ProcessMetricSource());
    daemon = new DaemonHandlers(status, metrics);
  }

  /** Adds the metrics of a part that has started before the datapath. */
  void add(MetricRegistry.Source source) {
    metrics.add(source);
  }

  /** Adds what endpoints show of the proxies, and their process; before {@link #ready}. */
  void add(ProxyView view, Supplier<Optional<String>> process) {
    proxies = view;
    proxyProcess = process;
  }

  /** Returns all metrics of the daemon. */
  MetricRegistry metrics() {
    return metrics;
  }

  /** Returns the routes that are served until the datapath is ready. */
  RouteTable starting() {
    return RouteTable.starting(daemon);
  }

  /**
   * Returns all routes, and adds the metrics of the parts.
   *
   * @param parts the parts of the daemon, ready
   * @param identities the identities of endpoints on this node
   * @param cidrIdentities the identities of CIDRs
   */
  RouteTable ready(
      StartedParts parts, IdentityAllocator identities, CidrIdentityAllocator cidrIdentities) {
    metrics.add(
        new DatapathMetricSource(
            parts.datapath().metrics(), parts.datapath().events(), parts.datapath()::status));
    metrics.add(new RepairMetricSource(parts.datapath().repairs()));
    metrics.add(new AgentThreadMetricSource(parts.datapath().threads()));
    metrics.add(new DomainMetricSource(parts, identities));
    metrics.add(new ServiceMetricSource(parts.services(), parts.datapath().services()));
    status.ready(parts);
    return RouteTable.of(
        daemon,
        new NodeHandlers(parts.nodes(), self),
        new ConfigurationHandlers(parts.configuration(), status),
        new DebugHandlers(
            status,
            new ProcessDebugView(Version.text(), parts.datapath(), proxyProcess, System.getenv()),
            parts.endpoints(),
            parts.policy(),
            parts.services(),
            proxies),
        new DocumentHandler(),
        new EndpointHandlers(parts.endpoints(), proxies),
        new IdentityHandlers(identities, cidrIdentities),
        new IpamHandlers(parts.ipam(), parts.addressing()),
        new PolicyHandlers(parts.policy(), keepsSlashes),
        new ServiceHandlers(parts.services()),
        new FqdnHandlers(parts.names(), parts.endpoints()),
        new PrefilterHandlers(parts.datapath().prefilter()),
        new MapHandlers(parts.datapath().mirrors()));
  }
}
