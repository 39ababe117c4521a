package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log of the agent while peers make thousands of errors of each kind. */
@KernelTest
class AgentLogVolumeKernelTest {
  private static final String PYTHON = "/usr/bin/python3";
  private static final int MOST_LINES = 60;
  private static final int MOST_BYTES = 20_000;

  @TempDir private static Path directory;
  private static TestNode node;
  private static ClientAndServer pair;
  private static Path script;

  @BeforeAll
  static void start() throws Exception {
    script = directory.resolve("errors.py");
    try (var source = AgentLogVolumeKernelTest.class.getResourceAsStream("errors.py")) {
      Files.copy(source, script);
    }
    node = new TestNode();
    pair = ClientAndServer.start(node, "--prometheus-serve-addr=127.0.0.1:19962");
    final Process origin =
        new ProcessBuilder(
                pair.server().namespace().inside(PYTHON, script.toString(), "origin", "8080"))
            .inheritIO()
            .start();
    node.keep(() -> origin.destroyForcibly().waitFor(10, TimeUnit.SECONDS));
    pair.agent()
        .expect(
            200,
            "PUT",
            "/policy",
            """
            [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
              {"toEndpoints": [{}], "toPorts": [
                {"ports": [{"port": "8080", "protocol": "TCP"}, {"port": "8081", "protocol": "TCP"}],
                 "rules": {"http": [{"path": "/.*"}]}},
                {"ports": [{"port": "53", "protocol": "ANY"}],
                 "rules": {"dns": [{"matchPattern": "*"}]}}]}]}]
            """);
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  /** Returns the lines that the errors of one kind have caused. */
  private static void assertFewLines(List<String> command) throws Exception {
    final AgentProcess agent = pair.agent();
    final int before = agent.log().length();
    final Process peer = new ProcessBuilder(command).redirectErrorStream(true).start();
    final String output = new String(peer.getInputStream().readAllBytes());
    assertEquals(0, peer.waitFor(), output);
    assertTrue(output.strip().endsWith("done"), output);
    agent.expect(200, "GET", "/healthz", null);
    final String caused = agent.log().substring(before);
    final long lines = caused.lines().count();
    assertTrue(
        lines <= MOST_LINES && caused.length() <= MOST_BYTES,
        command
            + ": "
            + lines
            + " lines of "
            + caused.length()
            + " bytes:\n"
            + caused.substring(0, Math.min(4_000, caused.length())));
  }

  private static void fromWorkload(String kind, String port) throws Exception {
    for (final String address : pair.addresses()) {
      assertFewLines(
          List.of(
              pair.client().namespace().inside(PYTHON, script.toString(), kind, address, port)));
    }
  }

  @Test
  void shouldWriteFewLinesForBadHttp1() throws Exception {
    fromWorkload("http1", "8080");
  }

  @Test
  void shouldWriteFewLinesForBadHttp2() throws Exception {
    fromWorkload("http2", "8080");
  }

  @Test
  void shouldWriteFewLinesForStreamsThatAreCancelled() throws Exception {
    fromWorkload("cancelled", "8080");
  }

  @Test
  void shouldWriteFewLinesForServersThatFail() throws Exception {
    fromWorkload("origins", "8080");
    fromWorkload("origins", "8081");
  }

  @Test
  void shouldWriteFewLinesForBadQuestions() throws Exception {
    fromWorkload("dns", "53");
  }

  @Test
  void shouldWriteFewLinesForBadCallsOfTheApi() throws Exception {
    assertFewLines(List.of(PYTHON, script.toString(), "api", pair.agent().socket().toString()));
    assertFewLines(
        List.of(
            PYTHON,
            script.toString(),
            "api",
            pair.agent().socket().resolveSibling("monitor.sock").toString()));
  }

  @Test
  void shouldWriteFewLinesForBadCallsOfTheMetricsPort() throws Exception {
    assertFewLines(
        List.of(
            node.namespace().inside(PYTHON, script.toString(), "metrics", "127.0.0.1", "19962")));
  }

  /** A client may make refused changes without end; of those some are logged. */
  @Test
  void shouldLogABoundedNumberOfRefusedChanges() throws Exception {
    final AgentProcess agent = pair.agent();
    final int before = agent.log().length();
    for (int i = 0; i < 1_000; i++) {
      agent.expect(404, "DELETE", "/endpoint/60000", null);
    }
    final long lines = agent.log().substring(before).lines().count();
    assertTrue(lines >= 100 && lines <= 300, lines + " lines");
    final int later = agent.log().length();
    for (int i = 0; i < 300; i++) {
      agent.expect(200, "POST", "/ipam/10.210.0.200?owner=one", null);
      agent.expect(200, "DELETE", "/ipam/10.210.0.200", null);
    }
    assertEquals(
        600,
        agent.log().substring(later).lines().filter(line -> line.contains("10.210.0.200")).count(),
        "each change that was carried out is logged");
  }
}
