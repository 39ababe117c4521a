package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Repairs;
import java.util.Locale;
import org.junit.jupiter.api.Test;

class RepairMetricSourceTest {
  @Test
  void shouldShowACounterOfEachKind() {
    final Repairs repairs = new Repairs();
    repairs.count(Repairs.Kind.MAP_ENTRY, 3);
    repairs.count(Repairs.Kind.MAP_ENTRY, 2);
    repairs.count(Repairs.Kind.LINK, 1);
    final String text = MetricText.PROMETHEUS.write(new RepairMetricSource(repairs).collect());
    assertTrue(text.contains("# TYPE agent_repairs_total counter\n"), text);
    for (final Repairs.Kind kind : Repairs.Kind.values()) {
      final int expected =
          switch (kind) {
            case MAP_ENTRY -> 5;
            case LINK -> 1;
            default -> 0;
          };
      assertTrue(
          text.contains(
              "agent_repairs_total{kind=\"%s\"} %d\n"
                  .formatted(kind.name().toLowerCase(Locale.ROOT), expected)),
          text);
    }
  }
}
