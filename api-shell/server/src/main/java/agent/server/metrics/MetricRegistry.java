package agent.server.metrics;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** All metrics of the daemon. Safe for every thread. */
public final class MetricRegistry {
  private final List<Source> sources = new CopyOnWriteArrayList<>();

  /** A part of the daemon that has metrics. */
  @FunctionalInterface
  public interface Source {
    /** Reads the present values; may be called by any thread. */
    List<MetricFamily> collect();
  }

  /** Adds the metrics of a part that has started. */
  public void add(Source source) {
    sources.add(source);
  }

  /** Reads all metrics; returns them sorted by name. */
  public List<MetricFamily> collect() {
    final List<MetricFamily> families = new ArrayList<>();
    sources.forEach(source -> families.addAll(source.collect()));
    families.sort(Comparator.comparing(MetricFamily::name));
    return families;
  }
}
