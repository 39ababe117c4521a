package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server in a PID namespace of its own, as in a container: it sees processes of its namespace,
 * and none of this process and of other containers.
 */
@KernelTest(since = "6.11")
@Timeout(60)
class PeerNamespaceKernelTest {
  /** What one process, and all other namespaces together, may have at work. */
  private static final int SHARE = SharedServer.LIMIT / 2;

  private static final String READ =
      "curl -s -o /dev/null -w '%{http_code}\\n' --unix-socket \"$0\" http://localhost/";

  @TempDir private Path directory;
  private Path socket;
  private Process server;
  private final List<RawClient> clients = new ArrayList<>();
  private final List<Process> containers = new ArrayList<>();

  @BeforeEach
  void startServer() throws Exception {
    socket = directory.resolve("agent.sock");
    final List<String> command = inside(List.of(java(), "-Xmx64m", "-XX:TieredStopAtLevel=1"));
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(flag -> flag.startsWith("--"))
        .forEach(command::add);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(SharedServer.class.getName(), socket.toString()));
    server =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("log").toFile())
            .start();
    while (!Files.exists(socket)) {
      assertTrue(server.isAlive(), () -> Commands.run("cat", directory.resolve("log").toString()));
      Thread.sleep(10);
    }
  }

  @AfterEach
  void endAll() throws Exception {
    for (final RawClient client : clients) {
      client.close();
    }
    for (final Process container : containers) {
      container.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
    }
    server.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /** Returns the command that runs another one in a PID namespace of its own. */
  private static List<String> inside(List<String> command) {
    final List<String> all = new ArrayList<>(List.of("unshare", "--pid", "--fork"));
    all.add("--kill-child");
    all.addAll(command);
    return all;
  }

  /** Makes processes of one other container ask for rules, and returns once so many are refused. */
  private void hog(int requests, int refused) throws IOException {
    final String script =
        "i=0; while [ $i -lt " + requests + " ]; do " + READ + "policy & i=$((i+1)); done; wait";
    final Process container =
        new ProcessBuilder(inside(List.of("sh", "-c", script, socket.toString()))).start();
    containers.add(container);
    final BufferedReader answers = container.inputReader();
    for (int i = 0; i < refused; i++) {
      assertEquals("503", answers.readLine());
    }
  }

  private String askAsProcessOfTheServer() {
    final long first = server.toHandle().children().findFirst().orElseThrow().pid();
    return Commands.run(
            "nsenter",
            "--target",
            Long.toString(first),
            "--pid",
            "sh",
            "-c",
            READ + "config",
            socket.toString())
        .strip();
  }

  private RawClient ask(String path) throws IOException {
    final RawClient client = new RawClient(socket);
    clients.add(client);
    return client.send(TestServer.get(path));
  }

  private void awaitWaiting(int count) throws Exception {
    while (!ask("/healthz").readAnswer().endsWith("\r\n\r\n" + count)) {
      Thread.sleep(10);
    }
  }

  /** Each of these clients has the process number 0 for the server. */
  @Test
  void shouldLeaveOthersTheirSharesWhileContainersAskForAllTheyCan() throws Exception {
    for (int i = 0; i < SHARE / 2; i++) {
      ask("/policy");
    }
    awaitWaiting(SHARE / 2);
    final String refused = ask("/policy").readAnswer();
    assertTrue(refused.startsWith("HTTP/1.1 503 "), refused);
    final String own = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
    final String number = own.substring("pid:[".length(), own.length() - 1);
    final String message =
        "PID namespace " + number + " already has 4 concurrent requests, its share";
    assertTrue(refused.contains(message), refused);

    hog(10, 8);
    awaitWaiting(SHARE * 3 / 4);
    hog(10, 9);
    awaitWaiting(SHARE * 3 / 4 + 1);

    final String still = ask("/policy").readAnswer();
    assertTrue(still.contains(message), still);
    assertEquals("200", askAsProcessOfTheServer());
  }
}
