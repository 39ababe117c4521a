package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients and servers of HTTP/2, gRPC and under load speak through the HTTP proxy. */
@KernelTest
class ProxyProtocolsKernelTest {
  private static final int PORT = ClientAndServer.PORT;
  private static final String PYTHON = "/usr/bin/python3";

  @TempDir private Path directory;
  private TestNode node;
  private ClientAndServer pair;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    pair = ClientAndServer.start(node);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Starts a server in the workload, and waits until it listens. */
  private void serve(String... command) throws Exception {
    final Path log = directory.resolve("server.log");
    final Process process =
        new ProcessBuilder(pair.server().namespace().inside(command))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    node.keep(() -> process.destroyForcibly().waitFor(10, TimeUnit.SECONDS));
    for (int i = 0; !isServed(); i++) {
      assertTrue(i < 500 && process.isAlive(), Files.readString(log));
      Thread.sleep(20);
    }
  }

  private boolean isServed() throws Exception {
    return TcpConnection.attempt(pair.client().namespace(), pair.server().ipv4(), PORT, 400)
        == TcpConnection.Outcome.CONNECTED;
  }

  private String script() throws Exception {
    final Path script = directory.resolve("grpc_echo.py");
    try (var source = getClass().getResourceAsStream("grpc_echo.py")) {
      Files.copy(source, script);
    }
    return script.toString();
  }

  @Test
  void shouldServeHttp2() throws Exception {
    Files.writeString(directory.resolve("public"), "public text");
    Files.writeString(directory.resolve("secret"), "secret text");
    serve("nghttpd", "--no-tls", "-d", directory.toString(), Integer.toString(PORT));
    pair.allow("ingress", "{\"method\": \"GET\", \"path\": \"/public\"}");
    for (final String address : pair.urlHosts()) {
      final String url = "http://" + address + ":" + PORT;
      assertEquals("public text", pair.ask("nghttp", url + "/public"));
      final String denied = pair.ask("nghttp", "-v", url + "/secret");
      assertTrue(denied.contains(":status: 403"), denied);
      assertTrue(denied.contains("Access denied"), denied);
      assertFalse(denied.contains("secret text"), denied);
      final String both = pair.ask("nghttp", "-v", url + "/public", url + "/secret");
      assertTrue(both.contains(":status: 200"), both);
      assertTrue(both.contains(":status: 403"), both);
      assertTrue(both.contains("public text"), both);
    }
  }

  /** A request that is denied keeps HTTP/1.1; the server is asked by HTTP/1.1 in any case. */
  @Test
  void shouldServeHttp2ByUpgrade() throws Exception {
    try (HttpOrigin origin = HttpOrigin.start(pair.server().namespace(), PORT)) {
      pair.allow("ingress", "{\"method\": \"GET\", \"path\": \"/public\"}");
      for (final boolean isIpv6 : List.of(false, true)) {
        final String url =
            "http://"
                + (isIpv6 ? "[" + pair.server().ipv6() + "]" : pair.server().ipv4())
                + ":"
                + PORT;
        final String own = isIpv6 ? pair.client().ipv6() : pair.client().ipv4();
        final String answer = "from " + InetAddress.getByName(own).getHostAddress();
        assertEquals(answer, pair.ask("nghttp", "-u", url + "/public"));
        final String both = pair.ask("nghttp", "-uv", url + "/public", url + "/secret");
        assertTrue(both.contains("HTTP Upgrade success"), both);
        assertTrue(both.contains(":status: 200") && both.contains(":status: 403"), both);
        assertTrue(both.contains("Access denied"), both);
        final String denied = pair.ask("nghttp", "-uv", url + "/secret");
        assertTrue(denied.contains("HTTP/1.1 403 Forbidden"), denied);
        assertEquals(answer + " 2 200;", curl(url + "/public"));
        assertEquals("Access denied 1.1 403;", curl(url + "/secret"));
        assertEquals(
            answer + " 2 200;Access denied 2 403;", curl(url + "/public", url + "/secret"));
      }
      assertEquals(8, origin.requests().size(), origin.requests().toString());
      assertTrue(origin.requests().stream().allMatch("GET /public"::equals));
    }
  }

  /** Returns the bodies with the versions and the statuses of the answers. */
  private String curl(String... urls) {
    final List<String> line = new ArrayList<>();
    line.addAll(List.of("curl", "-sS", "-g", "-m", "8", "--http2"));
    line.addAll(List.of("-w", " %{http_version} %{http_code};"));
    line.addAll(List.of(urls));
    return pair.ask(line.toArray(String[]::new));
  }

  @Test
  void shouldServeGrpcByRulesOfTheServerAndOfTheClient() throws Exception {
    final String script = script();
    final String calls = "{\"method\": \"POST\", \"path\": \"/echo.Echo/(Once|Stream)\"}";
    serve(PYTHON, script, "server", Integer.toString(PORT));
    pair.allow("ingress", calls);
    assertCalls(script);
    pair.allow("egress", calls);
    assertCalls(script);
  }

  private void assertCalls(String script) {
    for (final String address : pair.urlHosts()) {
      final String answers =
          pair.ask(
              PYTHON,
              script,
              "client",
              address + ":" + PORT,
              "/echo.Echo/Once",
              "/echo.Echo/Stream",
              "/echo.Echo/Secret",
              "/echo.Echo/Once");
      assertEquals(
          List.of(
              "/echo.Echo/Once OK 5",
              "/echo.Echo/Stream OK 1000000",
              "/echo.Echo/Secret PERMISSION_DENIED 0",
              "/echo.Echo/Once OK 5"),
          answers.lines().filter(line -> line.startsWith("/")).toList());
    }
  }

  @Test
  void shouldServeManyConnectionsUnderLoad() throws Exception {
    try (HttpOrigin origin = HttpOrigin.start(pair.server().namespace(), PORT)) {
      pair.allow("ingress", "{\"method\": \"GET\", \"path\": \"/public\"}");
      for (final String address : pair.urlHosts()) {
        final long before = origin.count("GET /public");
        final String url = "http://" + address + ":" + PORT;
        final String served = load(url + "/public");
        assertTrue(origin.count("GET /public") - before >= number(served, " requests in "), served);
        assertFalse(served.contains("Non-2xx"), served);
        assertFalse(served.contains("Socket errors"), served);
        final String denied = load(url + "/secret");
        assertTrue(number(denied, " requests in ") > 0, denied);
        assertEquals(number(denied, " requests in "), number(denied, "Non-2xx"), denied);
        assertFalse(denied.contains("Socket errors"), denied);
      }
      assertTrue(origin.requests().stream().allMatch("GET /public"::equals));
    }
  }

  /** A busy machine may take longer for an answer than the tool gives it by default. */
  private String load(String url) {
    return pair.ask("wrk", "-t1", "-c64", "-d1s", "--timeout", "20s", url);
  }

  /** Returns the last number, or the first, of the line that has a text. */
  private static long number(String output, String text) {
    final String line =
        output.lines().filter(each -> each.contains(text)).findFirst().orElseThrow().strip();
    final String[] words = line.split(" ");
    return Long.parseLong(text.startsWith(" ") ? words[0] : words[words.length - 1]);
  }
}
