package agent.launcher.process;

import agent.launcher.DaemonProcess;
import agent.testkit.Commands;
import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;

/** The daemon as a process of its own, in a node's namespace. */
final class AgentProcess implements AutoCloseable {
  /** The training run writes the cache when it ends, which takes long on a busy machine. */
  private static final int LONGEST_STOP_SEC = 120;

  /**
   * Under emulation an agent with two endpoints and a process of proxies is ready after a minute.
   */
  private static final long LONGEST_START_MS = 180_000;

  private static final Path SHIPPED_FLAGS = Path.of("src/main/scripts/agent.jvm");
  private static final String[] OPENED = {
    // most of the time of these tests is that of the start
    "-XX:TieredStopAtLevel=1",
    "-XX:Tier3InvocationThreshold=2000",
    "-XX:Tier3MinInvocationThreshold=1000",
    "-XX:Tier3CompileThreshold=20000",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    // as the daemon that is installed: its cache runs on any processor
    "-XX:-AOTAdapterCaching",
    "-XX:-AOTStubCaching",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "-Dchronicle.analytics.disable=true"
  };

  /** Each file before the two dashes is an empty one for the command after them. */
  private static final String HIDE =
      "while [ \"$1\" != -- ]; do mount --bind /dev/null \"$1\" || exit 9; shift; done;"
          + " shift; exec \"$@\"";

  private final Process process;
  private final Path log;
  private Path socket;

  private AgentProcess(Process process, Path log, Path socket) {
    this.process = process;
    this.log = log;
    this.socket = socket;
  }

  /** Starts it; it is not ready yet. */
  static AgentProcess start(NetworkNamespace node, Path state, Path bpfRoot, String... options)
      throws IOException {
    // A test run may ignore SIGHUP (nohup), and its children would, too.
    return start(
        List.of(node.inside("env", "--default-signal=HUP", java())), state, bpfRoot, options);
  }

  /** Starts it where the file is an empty one. */
  static AgentProcess startWithout(
      Path hidden, NetworkNamespace node, Path state, Path bpfRoot, String... options)
      throws IOException {
    final String[] command = OwnMounts.script(HIDE, List.of(hidden.toString(), "--", java()));
    return start(List.of(node.inside(command)), state, bpfRoot, options);
  }

  /** Starts it where these files are in the place of others. */
  static AgentProcess startWithFiles(
      Map<Path, Path> files, NetworkNamespace node, Path state, Path bpfRoot, String... options)
      throws IOException {
    final String[] command = OwnMounts.files(files, List.of(java()));
    return start(List.of(node.inside(command)), state, bpfRoot, options);
  }

  /** Starts it after a command of the shell, such as {@code umask 0}. */
  static AgentProcess startAfter(
      String command, NetworkNamespace node, Path state, Path bpfRoot, String... options)
      throws IOException {
    return start(
        List.of(node.inside("sh", "-c", command + "; exec \"$@\"", "sh", java())),
        state,
        bpfRoot,
        options);
  }

  /** What a process has printed, standard error included, and its exit code. */
  record Ended(int status, String output) {}

  /** Runs a command of the daemon's program to its end. */
  static Ended run(NetworkNamespace node, String input, String... arguments) throws Exception {
    return run(List.of(node.inside(java())), input, arguments);
  }

  /** Runs a command of the daemon's program in a script, as {@code "$@"}, with own mounts. */
  static Ended runIn(String script, NetworkNamespace node, String... arguments) throws Exception {
    final String[] command = OwnMounts.script(script, List.of(java()));
    return run(List.of(node.inside(command)), "", arguments);
  }

  private static Ended run(List<String> command, String input, String... arguments)
      throws Exception {
    final List<String> line = new ArrayList<>(command);
    line.addAll(List.of(OPENED));
    line.addAll(AgentImage.flags());
    line.add(DaemonProcess.class.getName());
    line.addAll(List.of(arguments));
    final Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
    process.getOutputStream().write(input.getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().close();
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), output);
  }

  /** Starts it with another class path, or other flags for it, than those of {@link AgentImage}. */
  static AgentProcess start(List<String> classPath, TestNode node, String... options)
      throws IOException {
    final List<String> command = List.of(node.namespace().inside(java()));
    return start(command, classPath, node.state(), node.bpfRoot(), options);
  }

  private static AgentProcess start(
      List<String> command, Path state, Path bpfRoot, String... options) throws IOException {
    return start(command, AgentImage.flags(), state, bpfRoot, options);
  }

  private static AgentProcess start(
      List<String> command, List<String> classPath, Path state, Path bpfRoot, String... options)
      throws IOException {
    final List<String> line = new ArrayList<>(command);
    line.addAll(shippedHeap());
    line.addAll(List.of(OPENED));
    line.addAll(classPath);
    line.add(DaemonProcess.class.getName());
    line.addAll(List.of("--state-dir", state.toString(), "--bpf-root", bpfRoot.toString()));
    line.addAll(List.of(options));
    final Path log = Files.createTempFile("agent-", ".log");
    final ProcessBuilder agent =
        new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(log.toFile());
    agent.environment().put("MALLOC_ARENA_MAX", "2"); // as the script that starts it does
    return new AgentProcess(agent.start(), log, state.resolve("agent.sock"));
  }

  /** The collector and the heap are those of the daemon that is installed. */
  private static List<String> shippedHeap() throws IOException {
    return Files.readAllLines(SHIPPED_FLAGS).stream()
        .filter(
            flag ->
                flag.startsWith("-Xm")
                    || flag.endsWith("GC")
                    || flag.contains("Heap")
                    || flag.contains("CachedBuffer")
                    || flag.contains("OutOfMemory"))
        .toList();
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  /** Waits until every route is served on a socket outside the state directory. */
  AgentProcess readyAt(Path other) throws Exception {
    socket = other;
    return ready();
  }

  /** Waits until every route is served and the endpoints of the previous run are restored. */
  AgentProcess ready() throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_START_MS);
    while (true) {
      if (!process.isAlive()) {
        throw new IllegalStateException("the agent ended with " + exitCode() + ": " + log());
      }
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("the agent is not ready: " + log());
      }
      try {
        if (call("GET", "/endpoint", null).status() == 200
            && !call("GET", "/health", null).text().contains("restoring: ")) {
          return this;
        }
      } catch (IOException notYet) {
        // the socket is not there yet
      }
      Thread.sleep(20);
    }
  }

  ApiCall.Answer call(String method, String path, String body) throws IOException {
    return ApiCall.call(socket, method, path, body);
  }

  /** A call that has to succeed. */
  ApiCall.Answer expect(int status, String method, String path, String body) throws IOException {
    final ApiCall.Answer answer = call(method, path, body);
    if (answer.status() != status) {
      throw new AssertionError(
          method + " " + path + ": " + answer.status() + " " + answer.text() + "\n" + log());
    }
    return answer;
  }

  Path socket() {
    return socket;
  }

  long pid() {
    return process.pid();
  }

  /** Returns the process of the proxies, which a rule has asked for. */
  long proxyPid() throws IOException {
    final String shown =
        expect(200, "GET", "/debuginfo", null).json().at("/subsystem/proxies").asString();
    if (!shown.startsWith("pid ")) {
      throw new AssertionError(shown);
    }
    return Long.parseLong(shown.substring(4, shown.indexOf(';')));
  }

  String log() throws IOException {
    return Files.readString(log);
  }

  /** Returns the value of the first metric with this name. */
  double metric(String name) throws Exception {
    for (final JsonNode metric : expect(200, "GET", "/metrics/", null).json()) {
      if (metric.get("name").asString().equals(name)) {
        return metric.get("value").asDouble();
      }
    }
    throw new AssertionError("there is no metric " + name);
  }

  /** SIGSTOP: it does nothing until {@link #resume}. */
  void suspend() {
    Commands.run("kill", "-STOP", Long.toString(pid()));
  }

  /** SIGCONT. */
  void resume() {
    Commands.run("kill", "-CONT", Long.toString(pid()));
  }

  /** SIGTERM, and the exit code. */
  int terminate() throws Exception {
    process.destroy();
    return exitCode();
  }

  /** SIGKILL. */
  void kill() throws Exception {
    process.destroyForcibly();
    exitCode();
  }

  int exitCode() throws InterruptedException {
    if (!process.waitFor(LONGEST_STOP_SEC, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IllegalStateException("the agent does not end");
    }
    return process.exitValue();
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly().onExit().join();
    Files.deleteIfExists(log);
  }
}
