package agent.server.metrics;

import java.util.List;
import java.util.Locale;
import java.util.TreeMap;

/** The text formats of metrics. */
public enum MetricText {
  /** Prometheus text, version 0.0.4. */
  PROMETHEUS("text/plain; version=0.0.4; charset=utf-8"),
  /** OpenMetrics 1.0. */
  OPEN_METRICS("application/openmetrics-text; version=1.0.0; charset=utf-8");

  private static final String TOTAL = "_total";

  private final String contentType;

  MetricText(String contentType) {
    this.contentType = contentType;
  }

  /** Returns the media type of the answer. */
  public String contentType() {
    return contentType;
  }

  /**
   * Chooses a format.
   *
   * @param accept value of the header {@code Accept}
   * @return the format, or null where the client accepts neither
   */
  public static MetricText accepted(String accept) {
    final String wanted = accept.toLowerCase(Locale.ROOT);
    if (wanted.contains("application/openmetrics-text")) {
      return OPEN_METRICS;
    }
    return wanted.contains("text/plain") ? PROMETHEUS : null;
  }

  /** Writes the metrics. */
  public String write(List<MetricFamily> families) {
    final StringBuilder text = new StringBuilder();
    for (final MetricFamily family : families) {
      final String described = describedName(family);
      text.append("# HELP ").append(described).append(' ');
      escape(text, family.help()).append("\n# TYPE ").append(described).append(' ');
      text.append(family.type().name().toLowerCase(Locale.ROOT)).append('\n');
      family.samples().forEach(sample -> write(text, family.name(), sample));
    }
    return (this == OPEN_METRICS ? text.append("# EOF\n") : text).toString();
  }

  /** OpenMetrics describes a counter without the suffix that its sample has. */
  private String describedName(MetricFamily family) {
    return this == OPEN_METRICS && family.type() == MetricFamily.Type.COUNTER
        ? family.name().substring(0, family.name().length() - TOTAL.length())
        : family.name();
  }

  private static void write(StringBuilder text, String name, MetricFamily.Sample sample) {
    text.append(name).append(sample.suffix());
    char separator = '{';
    for (final var label : new TreeMap<>(sample.labels()).entrySet()) {
      text.append(separator).append(label.getKey()).append("=\"");
      escape(text, label.getValue()).append('"');
      separator = ',';
    }
    text.append(sample.labels().isEmpty() ? " " : "} ");
    final long whole = (long) sample.value();
    text.append(whole == sample.value() ? Long.toString(whole) : Double.toString(sample.value()));
    text.append('\n');
  }

  private static StringBuilder escape(StringBuilder text, String raw) {
    return text.append(raw.replace("\\", "\\\\").replace("\n", "\\n").replace("\"", "\\\""));
  }
}
