package agent.server.metrics;

import agent.conductor.Repairs;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What the agent found different in the kernel and repaired.
 *
 * @param repairs the counters of the datapath
 */
public record RepairMetricSource(Repairs repairs) implements MetricRegistry.Source {
  @Override
  public List<MetricFamily> collect() {
    final List<MetricFamily.Sample> samples = new ArrayList<>();
    repairs.forEach(
        (kind, count) ->
            samples.add(
                new MetricFamily.Sample(
                    Map.of("kind", kind.name().toLowerCase(Locale.ROOT)), count)));
    return List.of(
        new MetricFamily(
            "agent_repairs_total",
            "Objects of the kernel that differed from what the agent set and were repaired",
            MetricFamily.Type.COUNTER,
            samples));
  }
}
