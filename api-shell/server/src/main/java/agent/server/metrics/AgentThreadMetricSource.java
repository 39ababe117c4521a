package agent.server.metrics;

import agent.conductor.AgentThreads;
import agent.conductor.DutyCycle;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** The duty cycles of the threads that run an agent; cycles without work are not counted. */
public final class AgentThreadMetricSource implements MetricRegistry.Source {
  private static final String AGENT = "agent";
  private static final int NANOSECOND_DIGITS = 9;
  private static final double NS_PER_S = 1e9;

  private final AgentThreads threads;

  /**
   * Creates the source.
   *
   * @param threads the threads of the daemon
   */
  public AgentThreadMetricSource(AgentThreads threads) {
    this.threads = threads;
  }

  @Override
  public List<MetricFamily> collect() {
    final List<DutyCycle> cycles = threads.dutyCycles();
    final List<MetricFamily.Sample> histogram = new ArrayList<>();
    cycles.forEach(cycle -> add(cycle, histogram));
    return List.of(
        new MetricFamily(
            "agent_duty_cycle_seconds",
            "Duration of the duty cycles that did work",
            MetricFamily.Type.HISTOGRAM,
            histogram),
        gauge(
            "agent_duty_cycle_longest_seconds",
            "Duration of the longest duty cycle",
            cycles,
            DutyCycle::longestNs),
        gauge(
            "agent_duty_cycle_stall_limit_seconds",
            "Duty cycle duration from which agent health is Degraded",
            cycles,
            DutyCycle::stallLimitNs));
  }

  private static void add(DutyCycle cycle, List<MetricFamily.Sample> samples) {
    long count = 0;
    for (int bucket = 0; bucket < DutyCycle.buckets(); bucket++) {
      count += cycle.count(bucket);
      samples.add(
          new MetricFamily.Sample(
              "_bucket", Map.of(AGENT, cycle.name(), "le", bound(bucket)), count));
    }
    final Map<String, String> labels = Map.of(AGENT, cycle.name());
    samples.add(new MetricFamily.Sample("_sum", labels, cycle.totalNs() / NS_PER_S));
    samples.add(new MetricFamily.Sample("_count", labels, count));
  }

  private static String bound(int bucket) {
    final long boundNs = DutyCycle.boundNs(bucket);
    return boundNs == Long.MAX_VALUE
        ? "+Inf"
        : BigDecimal.valueOf(boundNs, NANOSECOND_DIGITS).stripTrailingZeros().toPlainString();
  }

  private static MetricFamily gauge(
      String name, String help, List<DutyCycle> cycles, ToLongFunction<DutyCycle> valueNs) {
    return new MetricFamily(
        name,
        help,
        MetricFamily.Type.GAUGE,
        cycles.stream()
            .map(
                cycle ->
                    new MetricFamily.Sample(
                        Map.of(AGENT, cycle.name()), valueNs.applyAsLong(cycle) / NS_PER_S))
            .toList());
  }
}
