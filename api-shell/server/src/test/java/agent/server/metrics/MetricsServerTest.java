package agent.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MetricsServerTest {
  private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

  private final MetricRegistry registry = new MetricRegistry();

  private static HttpResponse<String> call(
      HttpClient client, int port, String method, String path, String accept) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, BodyPublishers.noBody())
            .header("Accept", accept)
            .build(),
        BodyHandlers.ofString());
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, LOOPBACK)) {
      return socket.getLocalPort();
    }
  }

  @Test
  void shouldServeTheMetricsAndNothingElse() throws Exception {
    registry.add(() -> List.of(MetricFamily.gauge("agent_x", "X", 3)));
    final int port = freePort();
    try (MetricsServer _ = MetricsServer.start(new InetSocketAddress(LOOPBACK, port), registry);
        HttpClient client = HttpClient.newHttpClient()) {
      for (final String path : List.of("/metrics", "/metrics/")) {
        final HttpResponse<String> answer = call(client, port, "GET", path, "*/*");
        assertEquals(200, answer.statusCode());
        assertEquals(
            "text/plain; version=0.0.4; charset=utf-8",
            answer.headers().firstValue("Content-Type").orElseThrow());
        assertEquals("# HELP agent_x X\n# TYPE agent_x gauge\nagent_x 3\n", answer.body());
      }
      final HttpResponse<String> open =
          call(client, port, "GET", "/metrics", "application/openmetrics-text");
      assertTrue(open.body().endsWith("# EOF\n"), open.body());
      assertEquals(404, call(client, port, "GET", "/endpoint", "*/*").statusCode());
      final HttpResponse<String> nothing = call(client, port, "GET", "/", "*/*");
      assertEquals(
          "404 only /metrics is served here\n", nothing.statusCode() + " " + nothing.body());
      final HttpResponse<String> refused = call(client, port, "DELETE", "/metrics", "*/*");
      assertEquals("405 only GET is allowed here\n", refused.statusCode() + " " + refused.body());
      assertEquals("GET, HEAD", refused.headers().firstValue("Allow").orElseThrow());
    }
    assertThrows(
        java.io.IOException.class,
        () -> call(HttpClient.newHttpClient(), port, "GET", "/metrics", "*/*"));
  }

  @Test
  void shouldNameTheOptionWhereTheAddressIsTaken() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, LOOPBACK)) {
      final InetSocketAddress address = new InetSocketAddress(LOOPBACK, taken.getLocalPort());
      final IllegalArgumentException failure =
          assertThrows(
              IllegalArgumentException.class, () -> MetricsServer.start(address, registry));
      assertEquals(
          "prometheus-serve-addr: " + address + ": Address already in use", failure.getMessage());
    }
  }

  @Test
  void shouldReadTheFormsOfAnAddress() throws Exception {
    assertEquals(Optional.empty(), MetricsServer.address(""));
    assertEquals(
        new InetSocketAddress("192.0.2.1", 9090), MetricsServer.address("192.0.2.1:9090").get());
    assertEquals(
        new InetSocketAddress(InetAddress.ofLiteral("2001:db8::1"), 65535),
        MetricsServer.address("[2001:db8::1]:65535").get());
    assertTrue(MetricsServer.address(":9090").get().getAddress().isAnyLocalAddress());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "9090",
        "192.0.2.1",
        "192.0.2.1:",
        "192.0.2.1:0",
        "192.0.2.1:65536",
        "host:9090",
        "::1:9090",
        "[192.0.2.1]:9090",
        "[x]:9090",
        ":-1"
      })
  void shouldRefuseWhatIsNoAddressAndPort(String text) {
    final IllegalArgumentException failure =
        assertThrows(IllegalArgumentException.class, () -> MetricsServer.address(text));
    assertTrue(failure.getMessage().startsWith("prometheus-serve-addr: '"), failure.getMessage());
  }
}
