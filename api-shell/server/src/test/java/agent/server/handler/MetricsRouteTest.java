package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.server.ApiHandler;
import agent.server.Route;
import agent.server.TestServer;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricFamily.Sample;
import agent.server.metrics.MetricFamily.Type;
import agent.server.metrics.MetricRegistry;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.json.JsonMapper;

/** GET /metrics/ in its three forms: the same samples with the same names, labels and values. */
@Timeout(60)
class MetricsRouteTest {
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    final MetricRegistry metrics = new MetricRegistry();
    metrics.add(
        () ->
            List.of(
                new MetricFamily(
                    "b_seconds",
                    "Durations",
                    Type.HISTOGRAM,
                    List.of(
                        new Sample("_bucket", Map.of("le", "+Inf"), 2),
                        new Sample("_sum", Map.of(), 0.25),
                        new Sample("_count", Map.of(), 2)))));
    metrics.add(
        () ->
            List.of(
                new MetricFamily(
                    "a_dropped_bytes_total",
                    "Dropped",
                    Type.COUNTER,
                    List.of(
                        new Sample(Map.of("direction", "ingress", "reason", "prefilter"), 7)))));
    final Map<Route, ApiHandler> handlers = new EnumMap<>(Route.class);
    new DaemonHandlers(null, metrics).addTo(handlers);
    server = TestServer.ofAgent(handlers);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  @Test
  void shouldAnswerJsonWhereNoTextFormIsAccepted() throws IOException {
    for (final String accept : List.of("", "Accept: */*\r\n", "Accept: application/json\r\n")) {
      assertAnswer(
          "application/json",
          "[{\"labels\":{\"direction\":\"ingress\",\"reason\":\"prefilter\"},"
              + "\"name\":\"a_dropped_bytes_total\",\"value\":7.0},"
              + "{\"labels\":{\"le\":\"+Inf\"},\"name\":\"b_seconds_bucket\",\"value\":2.0},"
              + "{\"labels\":{},\"name\":\"b_seconds_sum\",\"value\":0.25},"
              + "{\"labels\":{},\"name\":\"b_seconds_count\",\"value\":2.0}]",
          accept);
    }
  }

  @Test
  void shouldAnswerPrometheusText() throws IOException {
    assertAnswer(
        "text/plain; version=0.0.4; charset=utf-8",
        """
        # HELP a_dropped_bytes_total Dropped
        # TYPE a_dropped_bytes_total counter
        a_dropped_bytes_total{direction="ingress",reason="prefilter"} 7
        # HELP b_seconds Durations
        # TYPE b_seconds histogram
        b_seconds_bucket{le="+Inf"} 2
        b_seconds_sum 0.25
        b_seconds_count 2
        """,
        "Accept: text/plain\r\n");
  }

  @Test
  void shouldAnswerOpenMetrics() throws IOException {
    assertAnswer(
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        """
        # HELP a_dropped_bytes Dropped
        # TYPE a_dropped_bytes counter
        a_dropped_bytes_total{direction="ingress",reason="prefilter"} 7
        # HELP b_seconds Durations
        # TYPE b_seconds histogram
        b_seconds_bucket{le="+Inf"} 2
        b_seconds_sum 0.25
        b_seconds_count 2
        # EOF
        """,
        "Accept: application/openmetrics-text; version=1.0.0\r\n");
  }

  private void assertAnswer(String contentType, String body, String header) throws IOException {
    final String answer =
        server.exchange("GET /metrics/ HTTP/1.1\r\nHost: x\r\n" + header + "\r\n");
    assertTrue(answer.contains("\r\nContent-Type: " + contentType + "\r\n"), answer);
    final String sent = answer.substring(answer.indexOf("\r\n\r\n") + 4);
    assertEquals(
        body.startsWith("[") ? ordered(body) : body, sent.startsWith("[") ? ordered(sent) : sent);
  }

  /** The order of the labels is not fixed. */
  private static Object ordered(String json) {
    return new JsonMapper().readTree(json);
  }
}
