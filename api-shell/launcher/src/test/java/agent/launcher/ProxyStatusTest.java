package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.contract.daemon.DaemonStatusModel.Proxy;
import agent.contract.daemon.DaemonStatusModel.Redirect;
import agent.domain.proxy.RedirectBench;
import agent.l7proxy.RequestRecord;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.PolicyRedirect;
import agent.server.metrics.MetricText;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the status and the metrics show of proxies. */
@Timeout(60)
class ProxyStatusTest {
  private final RedirectBench bench = new RedirectBench();
  private final Map<Integer, List<PolicyRedirect>> redirects = new TreeMap<>();
  private final ProxyStatus status = new ProxyStatus(bench.proxies, () -> redirects);

  @AfterEach
  void close() {
    bench.close();
  }

  private void start(RedirectKind... kinds) throws Exception {
    bench.proxies.need(EnumSet.copyOf(List.of(kinds))).get(30, TimeUnit.SECONDS);
  }

  private static void put(RequestRecord.Verdict verdict, RedirectBench bench) {
    bench.listener.onRequest(
        new RequestRecord(
            Instant.EPOCH, verdict, null, "HTTP/1.1", "GET", "/", "", 200, 1, List.of()));
  }

  @Test
  void shouldShowNoPortsWhereNoPolicyAsksForAProxy() {
    assertEquals(new Proxy("Disabled", null, null, List.of(), 0L, 0L), status.get());
  }

  @Test
  void shouldShowWhereTheProxiesListenAndWhatGoesThroughThem() throws Exception {
    start(RedirectKind.HTTP);
    redirects.put(
        7,
        List.of(
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.HTTP, 6, 80, 95),
            new PolicyRedirect(PolicyDirection.EGRESS, RedirectKind.DNS, 17, 53, 53)));
    redirects.put(
        9, List.of(new PolicyRedirect(PolicyDirection.INGRESS, RedirectKind.HTTP, 6, 80, 80)));
    final int http = bench.proxies.firstPort(RedirectKind.HTTP).orElseThrow();
    final Proxy one = status.get();
    assertEquals("embedded", one.engineDeploymentMode());
    assertEquals("127.0.0.1", one.ip());
    assertEquals(http + "-" + (http + 7), one.portRange());
    assertEquals(8, one.totalPorts());
    assertEquals(3, one.totalRedirects());
    assertEquals(
        List.of(
            new Redirect("7:egress:TCP:80-95", "http", http),
            new Redirect("7:egress:UDP:53", "dns", null),
            new Redirect("9:ingress:TCP:80", "http", http)),
        one.redirects());
    start(RedirectKind.DNS);
    final int dns = bench.proxies.firstPort(RedirectKind.DNS).orElseThrow();
    final Proxy two = status.get();
    assertEquals(http + "-" + (http + 7) + "," + dns + "-" + (dns + 7), two.portRange());
    assertEquals(16, two.totalPorts());
    assertEquals(dns, two.redirects().get(1).proxyPort());
  }

  @Test
  void shouldCountPortsAndRequestsByVerdict() throws Exception {
    final ProxyMetricSource source = ProxyMetricSource.of(bench.proxies);
    assertNull(bench.listener);
    assertEquals(
        """
        # HELP agent_proxy_ports Ports that a proxy listens on, of each family
        # TYPE agent_proxy_ports gauge
        agent_proxy_ports{proxy="http"} 0
        agent_proxy_ports{proxy="dns"} 0
        # HELP agent_proxy_requests_total Requests that passed a proxy, by outcome
        # TYPE agent_proxy_requests_total counter
        # HELP agent_proxy_connections Open connections of clients to a proxy
        # TYPE agent_proxy_connections gauge
        agent_proxy_connections{proxy="http"} 0
        # HELP agent_proxy_connections_refused_total Connections of clients and to servers that \
        were refused because no descriptor was free
        # TYPE agent_proxy_connections_refused_total counter
        agent_proxy_connections_refused_total{proxy="http"} 0
        # HELP agent_proxy_connections_closed_idle_total Idle connections of clients that were \
        closed to make room for others
        # TYPE agent_proxy_connections_closed_idle_total counter
        agent_proxy_connections_closed_idle_total{proxy="http"} 0
        # HELP agent_proxy_dns_answers_cut_total DNS answers from which addresses beyond a \
        limit were removed
        # TYPE agent_proxy_dns_answers_cut_total counter
        agent_proxy_dns_answers_cut_total 0
        # HELP agent_proxy_access_log_dropped_total HTTP requests missing in the access log \
        because it could not be written
        # TYPE agent_proxy_access_log_dropped_total counter
        agent_proxy_access_log_dropped_total 0
        """,
        MetricText.PROMETHEUS.write(source.collect()));
    start(RedirectKind.HTTP, RedirectKind.DNS);
    put(Verdict.FORWARDED, bench);
    put(Verdict.FORWARDED, bench);
    put(Verdict.FORWARDED, bench);
    put(Verdict.DENIED, bench);
    put(Verdict.DENIED, bench);
    put(Verdict.ERROR, bench);
    final String text = MetricText.PROMETHEUS.write(source.collect());
    for (final String line :
        List.of(
            "agent_proxy_ports{proxy=\"http\"} 8",
            "agent_proxy_ports{proxy=\"dns\"} 8",
            "agent_proxy_requests_total{proxy=\"http\",verdict=\"forwarded\"} 3",
            "agent_proxy_requests_total{proxy=\"http\",verdict=\"denied\"} 2",
            "agent_proxy_requests_total{proxy=\"http\",verdict=\"error\"} 1",
            "agent_proxy_requests_total{proxy=\"dns\",verdict=\"error\"} 0")) {
      assertEquals(1, text.lines().filter(line::equals).count(), line + " in\n" + text);
    }
  }
}
