package agent.server.metrics;

import agent.datapath.spec.ServiceProxy;
import agent.service.Services;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Metrics of services. */
public final class ServiceMetricSource implements MetricRegistry.Source {
  private final Services services;
  private final ServiceProxy datapath;

  /**
   * Creates the source.
   *
   * @param services the services
   * @param datapath counts what the programs at sockets do
   */
  public ServiceMetricSource(Services services, ServiceProxy datapath) {
    this.services = services;
    this.datapath = datapath;
  }

  @Override
  public List<MetricFamily> collect() {
    return List.of(
        MetricFamily.gauge("agent_services", "Services", services.list().size()),
        new MetricFamily(
            "agent_service_sockets_total",
            "Connections and datagrams of sockets to services, by outcome",
            MetricFamily.Type.COUNTER,
            datapath.counters().entrySet().stream()
                .map(
                    entry ->
                        new MetricFamily.Sample(
                            Map.of("result", entry.getKey().name().toLowerCase(Locale.ROOT)),
                            entry.getValue()))
                .toList()));
  }
}
