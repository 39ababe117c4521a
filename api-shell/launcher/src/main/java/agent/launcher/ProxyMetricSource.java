package agent.launcher;

import agent.datapath.spec.RedirectProxy;
import agent.dns.proxy.DnsCounter;
import agent.domain.proxy.NodeProxies;
import agent.domain.proxy.ProxyCounts;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.RedirectKind;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricFamily.Sample;
import agent.server.metrics.MetricRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Metrics of the proxies; one that does not run has none but its number of ports. */
final class ProxyMetricSource implements MetricRegistry.Source {
  private final Supplier<ProxyCounts> counts;
  private final Predicate<RedirectKind> isRunning;

  /**
   * Creates the source.
   *
   * @param counts reads what the proxies have counted
   * @param isRunning whether the proxy of a kind has its ports
   */
  ProxyMetricSource(Supplier<ProxyCounts> counts, Predicate<RedirectKind> isRunning) {
    this.counts = counts;
    this.isRunning = isRunning;
  }

  /** Creates the source of the proxies of the node. */
  static ProxyMetricSource of(NodeProxies proxies) {
    return new ProxyMetricSource(
        () -> proxies.report(0), kind -> proxies.firstPort(kind).isPresent());
  }

  @Override
  public List<MetricFamily> collect() {
    final ProxyCounts counted = counts.get();
    return List.of(
        new MetricFamily(
            "agent_proxy_ports",
            "Ports that a proxy listens on, of each family",
            MetricFamily.Type.GAUGE,
            List.of(
                ports("http", isRunning.test(RedirectKind.HTTP)),
                ports("dns", isRunning.test(RedirectKind.DNS)))),
        new MetricFamily(
            "agent_proxy_requests_total",
            "Requests that passed a proxy, by outcome",
            MetricFamily.Type.COUNTER,
            requests(counted)),
        new MetricFamily(
            "agent_proxy_connections",
            "Open connections of clients to a proxy",
            MetricFamily.Type.GAUGE,
            List.of(new Sample(Map.of("proxy", "http"), counted.http().open()))),
        new MetricFamily(
            "agent_proxy_connections_refused_total",
            "Connections of clients and to servers that were refused because no descriptor was"
                + " free",
            MetricFamily.Type.COUNTER,
            List.of(new Sample(Map.of("proxy", "http"), counted.http().refused()))),
        new MetricFamily(
            "agent_proxy_connections_closed_idle_total",
            "Idle connections of clients that were closed to make room for others",
            MetricFamily.Type.COUNTER,
            List.of(new Sample(Map.of("proxy", "http"), counted.http().closedIdle()))),
        MetricFamily.counter(
            "agent_proxy_dns_answers_cut_total",
            "DNS answers from which addresses beyond a limit were removed",
            counted.questions(DnsCounter.CUT)),
        MetricFamily.counter(
            "agent_proxy_access_log_dropped_total",
            "HTTP requests missing in the access log because it could not be written",
            counted.http().unloggedRequests()));
  }

  private static Sample ports(String proxy, boolean isRunning) {
    return new Sample(Map.of("proxy", proxy), isRunning ? RedirectProxy.PORTS : 0);
  }

  private static List<Sample> requests(ProxyCounts counted) {
    final List<Sample> samples = new ArrayList<>();
    if (!counted.requests().isEmpty()) {
      for (final Verdict verdict : Verdict.values()) {
        samples.add(request("http", verdict, counted.requests(verdict)));
      }
    }
    if (!counted.questions().isEmpty()) {
      samples.add(request("dns", Verdict.FORWARDED, counted.questions(DnsCounter.FORWARDED)));
      samples.add(request("dns", Verdict.DENIED, counted.questions(DnsCounter.DENIED)));
      samples.add(
          request(
              "dns",
              Verdict.ERROR,
              counted.questions(DnsCounter.ERROR)
                  + counted.questions(DnsCounter.TIMED_OUT)
                  + counted.questions(DnsCounter.UNENFORCED)));
    }
    return samples;
  }

  private static Sample request(String proxy, Verdict verdict, long count) {
    return new Sample(
        new TreeMap<>(Map.of("proxy", proxy, "verdict", verdict.text().toLowerCase(Locale.ROOT))),
        count);
  }
}
