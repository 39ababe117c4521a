package agent.server.metrics;

import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathMetrics;
import agent.datapath.spec.DatapathStatus;
import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

/** The counters of the datapath. */
public final class DatapathMetricSource implements MetricRegistry.Source {
  private final DatapathMetrics metrics;
  private final DatapathEvents events;
  private final Supplier<DatapathStatus> status;

  /**
   * Creates the source.
   *
   * @param metrics packets and bytes
   * @param events notifications
   * @param status reads the status of the datapath
   */
  public DatapathMetricSource(
      DatapathMetrics metrics, DatapathEvents events, Supplier<DatapathStatus> status) {
    this.metrics = metrics;
    this.events = events;
    this.status = status;
  }

  @Override
  public List<MetricFamily> collect() {
    final List<MetricFamily> families = new ArrayList<>(traffic());
    families.add(
        MetricFamily.counter(
            "agent_events_received_total", "Notifications read from the ring", events.received()));
    families.add(
        MetricFamily.counter(
            "agent_events_lost_total",
            "Notifications lost because the ring was full",
            events.lost()));
    families.add(
        MetricFamily.counter(
            "agent_events_suppressed_total",
            "Notifications suppressed by the event rate limit of an endpoint",
            events.suppressed()));
    final DatapathStatus now = status.get();
    families.add(
        MetricFamily.gauge("agent_datapath_endpoints", "Attached endpoints", now.endpoints()));
    families.addAll(conntrack(now.conntrack()));
    families.add(
        MetricFamily.counter(
            "agent_masquerade_replaced_flows_total",
            "Half-open flows whose port was reassigned to a later flow of their endpoint",
            now.ports().replaced()));
    families.add(
        MetricFamily.counter(
            "agent_masquerade_refused_flows_total",
            "Flows dropped because no port was free",
            now.ports().refused()));
    return families;
  }

  private List<MetricFamily> traffic() {
    final List<MetricFamily.Sample> packets = new ArrayList<>();
    final List<MetricFamily.Sample> bytes = new ArrayList<>();
    final List<MetricFamily.Sample> droppedPackets = new ArrayList<>();
    final List<MetricFamily.Sample> droppedBytes = new ArrayList<>();
    metrics.forEach(
        (direction, reason, packetCount, byteCount) -> {
          final String where = nameOf(direction);
          if (reason == DropReason.NONE.number()) {
            packets.add(new MetricFamily.Sample(Map.of("direction", where), packetCount));
            bytes.add(new MetricFamily.Sample(Map.of("direction", where), byteCount));
          } else {
            final Map<String, String> labels = Map.of("direction", where, "reason", why(reason));
            droppedPackets.add(new MetricFamily.Sample(labels, packetCount));
            droppedBytes.add(new MetricFamily.Sample(labels, byteCount));
          }
        });
    return List.of(
        counters("agent_forwarded_packets_total", "Forwarded packets", packets),
        counters("agent_forwarded_bytes_total", "Forwarded bytes", bytes),
        counters("agent_dropped_packets_total", "Packets dropped, by reason", droppedPackets),
        counters("agent_dropped_bytes_total", "Bytes dropped, by reason", droppedBytes));
  }

  private static MetricFamily counters(
      String name, String help, List<MetricFamily.Sample> samples) {
    return new MetricFamily(name, help, MetricFamily.Type.COUNTER, samples);
  }

  private static List<MetricFamily> conntrack(DatapathStatus.Conntrack conntrack) {
    return List.of(
        MetricFamily.counter(
            "agent_conntrack_gc_runs_total", "Finished garbage collections", conntrack.runs()),
        MetricFamily.counter(
            "agent_conntrack_gc_deleted_total", "Flows that expired", conntrack.deleted()),
        MetricFamily.gauge(
            "agent_conntrack_entries",
            "Flows that remained after the last garbage collection",
            conntrack.entries()),
        MetricFamily.counter(
            "agent_conntrack_overflowed_flows_total",
            "Flows opened beyond the conntrack share of their endpoint",
            conntrack.overflowed()),
        MetricFamily.gauge(
            "agent_conntrack_gc_duration_seconds",
            "Duration of the last garbage collection",
            conntrack.lastDurationNs() / 1e9));
  }

  private static String nameOf(int direction) {
    for (final MetricsDirection known : MetricsDirection.values()) {
      if (known.number() == direction) {
        return known.name().toLowerCase(Locale.ROOT);
      }
    }
    return Integer.toString(direction);
  }

  private static String why(int reason) {
    for (final DropReason known : DropReason.values()) {
      if (known.number() == reason) {
        return known.name().toLowerCase(Locale.ROOT);
      }
    }
    return Integer.toString(reason);
  }
}
