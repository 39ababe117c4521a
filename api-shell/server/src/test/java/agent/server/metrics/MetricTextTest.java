package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MetricTextTest {
  private final List<MetricFamily> families =
      List.of(
          new MetricFamily(
              "drops_total",
              "Packets \\ dropped",
              MetricFamily.Type.COUNTER,
              List.of(
                  new MetricFamily.Sample(Map.of("reason", "a\"b\n", "direction", "in"), 12),
                  new MetricFamily.Sample(Map.of("reason", "c", "direction", "in"), 1e10))),
          MetricFamily.gauge("pressure", "How full", 0.25));

  @Test
  void shouldWritePrometheusText() {
    assertEquals(
        """
        # HELP drops_total Packets \\\\ dropped
        # TYPE drops_total counter
        drops_total{direction="in",reason="a\\"b\\n"} 12
        drops_total{direction="in",reason="c"} 10000000000
        # HELP pressure How full
        # TYPE pressure gauge
        pressure 0.25
        """,
        MetricText.PROMETHEUS.write(families));
  }

  @Test
  void shouldWriteOpenMetrics() {
    final String text = MetricText.OPEN_METRICS.write(families);
    assertEquals("# HELP drops Packets \\\\ dropped", text.lines().findFirst().orElseThrow());
    assertEquals("# EOF", text.lines().toList().getLast());
  }

  @Test
  void shouldChooseTheFormThatIsAccepted() {
    assertNull(MetricText.accepted(""));
    assertNull(MetricText.accepted("*/*"));
    assertNull(MetricText.accepted("application/json"));
    assertEquals(MetricText.PROMETHEUS, MetricText.accepted("Text/Plain;version=0.0.4"));
    assertEquals(
        MetricText.OPEN_METRICS,
        MetricText.accepted("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
  }

  @Test
  void shouldRefuseACounterWithoutItsSuffix() {
    assertThrows(IllegalArgumentException.class, () -> MetricFamily.counter("drops", "Drops", 1));
  }
}
