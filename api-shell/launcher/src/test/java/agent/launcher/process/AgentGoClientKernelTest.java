package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.testkit.api.CheckedSocket;
import agent.testkit.api.OpenApiDocument;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * The Go client drives a running agent: the tests in {@code client-go/live}. Each answer that it
 * gets must be as the OpenAPI document says.
 */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentGoClientKernelTest {
  private static final Path MODULE = Path.of("..", "client-go").toAbsolutePath().normalize();
  private static final Pattern TEST = Pattern.compile("(?m)^func (Test[A-Za-z0-9]*)\\(t ");
  private static final Pattern PASSED = Pattern.compile("(?m)^--- PASS: (Test[A-Za-z0-9]*) ");

  @Test
  void shouldCallEveryOperationOfARunningAgent(@TempDir Path directory) throws Exception {
    try (TestNode node = new TestNode()) {
      node.namespace().exec("ip", "link", "add", "outside", "type", "veth", "peer", "name", "far");
      node.namespace().exec("ip", "link", "set", "outside", "up");
      final TestControlGroup group = TestControlGroup.enter();
      node.keep(group);
      final AgentProcess agent =
          node.agent(
              "--prefilter-device",
              "outside",
              "--prefilter-mode",
              "generic",
              "--cgroup-root",
              group.path().toString(),
              "--tofqdns-pre-cache",
              node.preCache("www.example.com", "192.0.2.7").toString());
      final TestWorkload workload = node.plumbed(agent, "live", "k8s:app=live", "k8s:tier=1");
      final CheckedSocket socket = CheckedSocket.before(agent.socket());
      final Path output = directory.resolve("output");
      final ProcessBuilder check =
          new ProcessBuilder(MODULE.resolve("check").toString(), "-live")
              .redirectErrorStream(true)
              .redirectOutput(output.toFile());
      check.environment().put("AGENT_ADDRESS", "unix://" + socket.path());
      check.environment().put("AGENT_ENDPOINT", workload.request());
      final Process running = check.start();
      try {
        assertTrue(running.waitFor(5, TimeUnit.MINUTES), "the tests in Go do not end");
      } finally {
        running.destroyForcibly();
      }
      socket.close();
      final String text = Files.readString(output);
      assertEquals(0, running.exitValue(), text + agent.log());
      assertEquals(OpenApiDocument.shipped().operations(), socket.operations());
      assertEquals(names(TEST, sources()), passed(text));
    }
  }

  private static String sources() throws IOException {
    final StringBuilder all = new StringBuilder();
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(MODULE.resolve("live"), "*_test.go")) {
      for (final Path file : files) {
        all.append(Files.readString(file));
      }
    }
    return all.toString();
  }

  private static Set<String> passed(String output) {
    return names(PASSED, output);
  }

  private static Set<String> names(Pattern pattern, String text) {
    final Set<String> names = new TreeSet<>();
    pattern.matcher(text).results().forEach(match -> names.add(match.group(1)));
    assertTrue(names.size() >= 6, text);
    return names;
  }
}
