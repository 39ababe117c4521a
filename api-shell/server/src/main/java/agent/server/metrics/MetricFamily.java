package agent.server.metrics;

import java.util.List;
import java.util.Map;

/**
 * The samples of one metric.
 *
 * @param name name; that of a counter ends with {@code _total}
 * @param help one line on what it counts
 * @param type counter or gauge
 * @param samples its samples
 */
public record MetricFamily(String name, String help, Type type, List<Sample> samples) {
  /** What the value does. */
  public enum Type {
    /** Only grows. */
    COUNTER,
    /** Goes up and down. */
    GAUGE
  }

  /**
   * One value.
   *
   * @param labels label name to value
   * @param value the value
   */
  public record Sample(Map<String, String> labels, double value) {}

  /** Copies the list. */
  public MetricFamily {
    samples = List.copyOf(samples);
    if (type == Type.COUNTER && !name.endsWith("_total")) {
      throw new IllegalArgumentException("the name of counter '" + name + "' lacks _total");
    }
  }

  /** Returns a gauge with one value. */
  public static MetricFamily gauge(String name, String help, double value) {
    return new MetricFamily(name, help, Type.GAUGE, List.of(new Sample(Map.of(), value)));
  }

  /** Returns a counter with one value. */
  public static MetricFamily counter(String name, String help, double value) {
    return new MetricFamily(name, help, Type.COUNTER, List.of(new Sample(Map.of(), value)));
  }
}
