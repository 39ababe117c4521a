package agent.server.metrics;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** All metrics of the daemon: what the API and the Prometheus listener answer alike. */
public final class MetricRegistry {
  private final List<MetricSource> sources = new CopyOnWriteArrayList<>();

  /** Adds a source, when its part of the daemon is there. */
  public void add(MetricSource source) {
    sources.add(source);
  }

  /** Reads all metrics, by name. */
  public List<MetricFamily> collect() {
    final List<MetricFamily> families = new ArrayList<>();
    sources.forEach(source -> families.addAll(source.collect()));
    families.sort(Comparator.comparing(MetricFamily::name));
    return families;
  }
}
