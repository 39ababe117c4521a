package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MetricRegistryTest {
  @Test
  void shouldSortTheMetricsOfAllPartsByName() {
    final MetricRegistry registry = new MetricRegistry();
    registry.add(
        () -> List.of(MetricFamily.gauge("agent_d", "", 1), MetricFamily.gauge("agent_b", "", 2)));
    registry.add(
        () -> List.of(MetricFamily.gauge("agent_c", "", 3), MetricFamily.gauge("agent_a", "", 4)));
    assertEquals(
        List.of("agent_a", "agent_b", "agent_c", "agent_d"),
        registry.collect().stream().map(MetricFamily::name).toList());
  }
}
