package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.dns.proxy.DnsCounter;
import agent.domain.proxy.ProxyCounts;
import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.RedirectKind;
import agent.server.metrics.MetricText;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Each count of the proxies is another power of two, so that none can stand for another. */
class ProxyMetricSourceTest {
  private static ProxyCounts counts() {
    final Map<Verdict, Long> requests = new EnumMap<>(Verdict.class);
    long next = 1;
    for (final Verdict verdict : Verdict.values()) {
      requests.put(verdict, next);
      next *= 2;
    }
    final Map<DnsCounter, Long> questions = new EnumMap<>(DnsCounter.class);
    for (final DnsCounter counter : DnsCounter.values()) {
      questions.put(counter, next);
      next *= 2;
    }
    return new ProxyCounts(
        requests,
        new ProxyCounts.Connections(next, 2 * next, 4 * next, 8 * next),
        questions,
        Map.of());
  }

  @Test
  void shouldShowEachCountUnderItsName() {
    final String text =
        MetricText.PROMETHEUS.write(
            new ProxyMetricSource(ProxyMetricSourceTest::counts, kind -> kind == RedirectKind.DNS)
                .collect());
    assertEquals(
        new TreeSet<>(
            List.of(
                "agent_proxy_ports{proxy=\"http\"} 0",
                "agent_proxy_ports{proxy=\"dns\"} 8",
                "agent_proxy_requests_total{proxy=\"http\",verdict=\"forwarded\"} 1",
                "agent_proxy_requests_total{proxy=\"http\",verdict=\"denied\"} 2",
                "agent_proxy_requests_total{proxy=\"http\",verdict=\"error\"} 4",
                "agent_proxy_requests_total{proxy=\"dns\",verdict=\"forwarded\"} 16",
                "agent_proxy_requests_total{proxy=\"dns\",verdict=\"denied\"} 32",
                // refused or failed, not answered in time, and replaced
                "agent_proxy_requests_total{proxy=\"dns\",verdict=\"error\"} " + (64 + 256 + 512),
                "agent_proxy_connections{proxy=\"http\"} 4096",
                "agent_proxy_connections_refused_total{proxy=\"http\"} 8192",
                "agent_proxy_connections_closed_idle_total{proxy=\"http\"} 16384",
                "agent_proxy_dns_answers_cut_total 1024",
                "agent_proxy_access_log_dropped_total 32768")),
        new TreeSet<>(text.lines().filter(line -> !line.startsWith("#")).toList()));
  }
}
