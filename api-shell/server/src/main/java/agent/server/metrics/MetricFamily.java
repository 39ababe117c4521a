package agent.server.metrics;

import java.util.List;
import java.util.Map;

/**
 * The samples of one metric.
 *
 * @param name name; that of a counter ends with {@code _total}
 * @param help one line that says what is counted
 * @param type counter, gauge or histogram
 * @param samples its samples
 */
public record MetricFamily(String name, String help, Type type, List<Sample> samples) {
  /** How the value changes. */
  public enum Type {
    /** Only grows. */
    COUNTER,
    /** Goes up and down. */
    GAUGE,
    /** Samples named {@code _bucket}, {@code _sum} and {@code _count}. */
    HISTOGRAM
  }

  /**
   * One value.
   *
   * @param suffix what follows the name of the family: empty, unless it is a histogram
   * @param labels label name to value
   * @param value the value
   */
  public record Sample(String suffix, Map<String, String> labels, double value) {
    /** Creates a sample with the name of its family. */
    public Sample(Map<String, String> labels, double value) {
      this("", labels, value);
    }
  }

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
