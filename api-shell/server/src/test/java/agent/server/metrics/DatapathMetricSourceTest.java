package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathMetrics;
import agent.datapath.spec.DatapathStatus;
import agent.datapath.spec.FlowRing;
import agent.datapath.spec.TcMode;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Names, units, labels and types of the datapath's metrics, in each text form. */
class DatapathMetricSourceTest {
  private static final int INGRESS = MetricsDirection.INGRESS.number();
  private static final int EGRESS = MetricsDirection.EGRESS.number();
  private static final int NETWORK = MetricsDirection.NETWORK.number();

  /** Every number is another one, so that none can stand in for another. */
  private final DatapathMetricSource source =
      new DatapathMetricSource(
          new FakeCounters(),
          new FakeEvents(),
          () ->
              new DatapathStatus(
                  TcMode.TCX,
                  "6.12",
                  List.of(),
                  "1.6",
                  null,
                  null,
                  31,
                  new DatapathStatus.Conntrack(60, 32, 33, 34, 35, 1_500_000, 36),
                  new DatapathStatus.Ports(37, 38)));

  @Test
  void shouldWritePrometheusText() {
    assertEquals(
        """
        # HELP agent_forwarded_packets_total Forwarded packets
        # TYPE agent_forwarded_packets_total counter
        agent_forwarded_packets_total{direction="ingress"} 11
        agent_forwarded_packets_total{direction="egress"} 12
        # HELP agent_forwarded_bytes_total Forwarded bytes
        # TYPE agent_forwarded_bytes_total counter
        agent_forwarded_bytes_total{direction="ingress"} 1100
        agent_forwarded_bytes_total{direction="egress"} 1200
        # HELP agent_dropped_packets_total Packets dropped, by reason
        # TYPE agent_dropped_packets_total counter
        agent_dropped_packets_total{direction="ingress",reason="policy_denied"} 13
        agent_dropped_packets_total{direction="network",reason="prefilter"} 14
        agent_dropped_packets_total{direction="9",reason="99"} 15
        # HELP agent_dropped_bytes_total Bytes dropped, by reason
        # TYPE agent_dropped_bytes_total counter
        agent_dropped_bytes_total{direction="ingress",reason="policy_denied"} 1300
        agent_dropped_bytes_total{direction="network",reason="prefilter"} 1400
        agent_dropped_bytes_total{direction="9",reason="99"} 1500
        # HELP agent_events_received_total Notifications read from the ring
        # TYPE agent_events_received_total counter
        agent_events_received_total 21
        # HELP agent_events_lost_total Notifications lost because the ring was full
        # TYPE agent_events_lost_total counter
        agent_events_lost_total 22
        # HELP agent_events_suppressed_total Notifications suppressed by the event rate limit of an endpoint
        # TYPE agent_events_suppressed_total counter
        agent_events_suppressed_total 23
        # HELP agent_datapath_endpoints Attached endpoints
        # TYPE agent_datapath_endpoints gauge
        agent_datapath_endpoints 31
        # HELP agent_conntrack_gc_runs_total Finished garbage collections
        # TYPE agent_conntrack_gc_runs_total counter
        agent_conntrack_gc_runs_total 32
        # HELP agent_conntrack_gc_deleted_total Flows that expired
        # TYPE agent_conntrack_gc_deleted_total counter
        agent_conntrack_gc_deleted_total 35
        # HELP agent_conntrack_entries Flows that remained after the last garbage collection
        # TYPE agent_conntrack_entries gauge
        agent_conntrack_entries 33
        # HELP agent_conntrack_overflowed_flows_total Flows opened beyond the conntrack share of their endpoint
        # TYPE agent_conntrack_overflowed_flows_total counter
        agent_conntrack_overflowed_flows_total 36
        # HELP agent_conntrack_gc_duration_seconds Duration of the last garbage collection
        # TYPE agent_conntrack_gc_duration_seconds gauge
        agent_conntrack_gc_duration_seconds 0.0015
        # HELP agent_masquerade_replaced_flows_total Half-open flows whose port was reassigned to a later flow of their endpoint
        # TYPE agent_masquerade_replaced_flows_total counter
        agent_masquerade_replaced_flows_total 37
        # HELP agent_masquerade_refused_flows_total Flows dropped because no port was free
        # TYPE agent_masquerade_refused_flows_total counter
        agent_masquerade_refused_flows_total 38
        """,
        MetricText.PROMETHEUS.write(source.collect()));
  }

  /** OpenMetrics 1.0: the family of a counter has no suffix, its sample has. */
  @Test
  void shouldWriteTheSameSamplesInOpenMetrics() {
    final List<String> expected = new ArrayList<>();
    for (final String line : MetricText.PROMETHEUS.write(source.collect()).lines().toList()) {
      expected.add(line.startsWith("#") ? line.replaceFirst("_total ", " ") : line);
    }
    expected.add("# EOF");
    final String text = MetricText.OPEN_METRICS.write(source.collect());
    assertEquals(expected, text.lines().toList());
    assertEquals("# EOF\n", text.substring(text.length() - 6));
  }

  @Test
  void shouldNameEveryDirectionAndEveryDropReason() {
    final Set<String> names = new HashSet<>();
    for (final MetricsDirection direction : MetricsDirection.values()) {
      for (final DropReason reason : DropReason.values()) {
        final DatapathMetricSource one =
            new DatapathMetricSource(
                new OneCounter(direction.number(), reason.number()),
                new FakeEvents(),
                () ->
                    new DatapathStatus(
                        TcMode.TCX,
                        "",
                        List.of(),
                        "",
                        null,
                        null,
                        0,
                        new DatapathStatus.Conntrack(0, 0, 0, 0, 0, 0, 0),
                        new DatapathStatus.Ports(0, 0)));
        final MetricFamily counted =
            one.collect().stream()
                .filter(family -> family.name().endsWith("_packets_total"))
                .filter(family -> !family.samples().isEmpty())
                .reduce((a, b) -> null)
                .orElseThrow();
        final var labels = counted.samples().getFirst().labels();
        assertEquals(direction.name().toLowerCase(Locale.ROOT), labels.get("direction"));
        final boolean isDrop = reason != DropReason.NONE;
        assertEquals(isDrop ? reason.name().toLowerCase(Locale.ROOT) : null, labels.get("reason"));
        assertEquals(
            isDrop ? "agent_dropped_packets_total" : "agent_forwarded_packets_total",
            counted.name());
        names.add(counted.name() + labels);
      }
    }
    assertEquals(MetricsDirection.values().length * DropReason.values().length, names.size());
  }

  private static class FakeCounters implements DatapathMetrics {
    @Override
    public void forEach(Visitor visitor) {
      visitor.onCounter(INGRESS, DropReason.NONE.number(), 11, 1100);
      visitor.onCounter(EGRESS, DropReason.NONE.number(), 12, 1200);
      visitor.onCounter(INGRESS, DropReason.POLICY_DENIED.number(), 13, 1300);
      visitor.onCounter(NETWORK, DropReason.PREFILTER.number(), 14, 1400);
      visitor.onCounter(9, 99, 15, 1500);
    }

    @Override
    public long packets(int direction, int reason) {
      throw new UnsupportedOperationException();
    }
  }

  private static final class OneCounter extends FakeCounters {
    private final int direction;
    private final int reason;

    OneCounter(int direction, int reason) {
      this.direction = direction;
      this.reason = reason;
    }

    @Override
    public void forEach(Visitor visitor) {
      visitor.onCounter(direction, reason, 1, 100);
    }
  }

  private static final class FakeEvents implements DatapathEvents {
    @Override
    public CompletableFuture<Void> subscribe(FlowSubscriber subscriber) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void unsubscribe(FlowSubscriber subscriber) {}

    @Override
    public long polls() {
      return 0;
    }

    @Override
    public long received() {
      return 21;
    }

    @Override
    public long lost() {
      return 22;
    }

    @Override
    public long suppressed() {
      return 23;
    }

    @Override
    public FlowRing flows() {
      return new FlowRing(0, Set.of(), System::nanoTime);
    }
  }
}
