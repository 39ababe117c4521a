package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the process prints and ends with, before it touches the node. */
class AgentCommandLineTest {
  @TempDir private Path home;

  private record Outcome(int exitCode, String out, String err) {}

  @Test
  void shouldPrintItsVersion() throws Exception {
    final Outcome outcome = run(Map.of(), "--version");
    assertEquals(0, outcome.exitCode, outcome.err);
    assertTrue(
        outcome.out.matches(
            "agent \\d+\\.\\d+\\.\\d+\\S* \\(commit ([0-9a-f]{12}|unknown), \\S+\\)\n"),
        outcome.out);
  }

  @Test
  void shouldPrintItsOptionsByGroup() throws Exception {
    final Outcome outcome = run(Map.of(), "-h");
    assertEquals(0, outcome.exitCode, outcome.err);
    assertTrue(outcome.out.contains("Prefilter:\n"), outcome.out);
    assertTrue(outcome.out.contains("--prefilter-mode string"), outcome.out);
  }

  @Test
  void shouldEndWithTwoAndOneLineForAnOption() throws Exception {
    refuses("agent: --no-such: unknown option", Map.of(), "--no-such");
    refuses(
        "agent: --kvstore etcd: requires a key-value store, which this version does not support",
        Map.of(),
        "--kvstore",
        "etcd");
    refuses("agent: --mtu: 'x': not a number", Map.of("AGENT_MTU", "x"));
  }

  @Test
  void shouldEndWithTwoForAValueThatFitsNoMachine() throws Exception {
    final String state = home.resolve("state").toString();
    refusesLater("--state-dir: '': not a directory name", "--state-dir", "");
    refusesLater("--bpf-root: '': not a directory name", "--state-dir", state, "--bpf-root", "");
    refusesLater(
        "--cluster-name: 'a:b': must be a name without ':'",
        "--state-dir",
        state,
        "--cluster-name",
        "a:b");
    refusesLater(
        "--socket-path: longer than 90 bytes: /xxx",
        "--state-dir",
        state,
        "--socket-path",
        "/" + "x".repeat(100));
  }

  private void refusesLater(String message, String... arguments) throws Exception {
    final Outcome outcome = run(Map.of(), arguments);
    assertEquals(2, outcome.exitCode, outcome.err);
    assertTrue((outcome.out + outcome.err).contains("agent: " + message), outcome.toString());
  }

  private void refuses(String line, Map<String, String> environment, String... arguments)
      throws Exception {
    final Outcome outcome = run(environment, arguments);
    assertEquals(2, outcome.exitCode, outcome.err);
    assertEquals(line + "\n", outcome.err);
    assertEquals("", outcome.out);
  }

  private Outcome run(Map<String, String> environment, String... arguments) throws Exception {
    final List<String> line =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                DaemonProcess.class.getName()));
    line.addAll(List.of(arguments));
    final ProcessBuilder builder = new ProcessBuilder(line);
    builder.environment().put("HOME", home.toString());
    builder.environment().putAll(environment);
    final Process process = builder.start();
    process.getOutputStream().close();
    final String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    final String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(30, TimeUnit.SECONDS));
    return new Outcome(process.exitValue(), out, err);
  }
}
