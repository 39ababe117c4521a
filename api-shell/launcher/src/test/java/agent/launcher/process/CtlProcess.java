package agent.launcher.process;

import static java.nio.file.StandardCopyOption.COPY_ATTRIBUTES;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.AgentCtl;
import agent.launcher.local.LocalAgentCtl;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** agentctl as a process, whose output is in two files of a directory. */
final class CtlProcess implements AutoCloseable {
  private static final Path SCRIPTS = Path.of("src/main/scripts");

  private final Process process;
  private final Path out;
  private final Path err;

  /** What a process that has ended has written. */
  record Outcome(int exitCode, String out, String err) {}

  private CtlProcess(Path directory, ProcessBuilder command) throws IOException {
    out = directory.resolve("out");
    err = directory.resolve("err");
    process = command.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    process.getOutputStream().close();
  }

  private static ProcessBuilder command(List<String> words) {
    final List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx64m",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"));
    line.addAll(AgentImage.flags());
    line.add(LocalAgentCtl.class.getName());
    line.addAll(words);
    return new ProcessBuilder(line);
  }

  static CtlProcess start(Path directory, String... words) throws IOException {
    return new CtlProcess(directory, command(List.of(words)));
  }

  /** Starts a command of the shell on a terminal of its own, whose output is what it shows. */
  static CtlProcess onTerminal(Path directory, String command) throws IOException {
    Files.createDirectories(directory);
    final ProcessBuilder terminal =
        new ProcessBuilder("script", "-qefc", "stty cols 97; " + command, "/dev/null");
    terminal.environment().put("JAVA_HOME", System.getProperty("java.home"));
    return new CtlProcess(directory, terminal);
  }

  /** Installs the client below a prefix with its start script, and returns the path of that. */
  static Path install(Path prefix) throws IOException {
    final Path lib = Files.createDirectories(prefix.resolve("lib/agent"));
    final Path script = Files.createDirectories(prefix.resolve("bin")).resolve("agentctl");
    Files.copy(SCRIPTS.resolve("agentctl"), script, COPY_ATTRIBUTES);
    Files.copy(SCRIPTS.resolve("find-jdk"), lib.resolve("find-jdk"), COPY_ATTRIBUTES);
    Files.copy(SCRIPTS.resolve("agentctl.jvm"), lib.resolve("agentctl.jvm"));
    final Manifest manifest = new Manifest();
    final Attributes attributes = manifest.getMainAttributes();
    attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    attributes.put(Attributes.Name.MAIN_CLASS, AgentCtl.class.getName());
    attributes.put(
        Attributes.Name.CLASS_PATH,
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(entry -> Path.of(entry).toUri().toString())
            .collect(Collectors.joining(" ")));
    try (OutputStream file = Files.newOutputStream(lib.resolve("agentctl.jar"))) {
      new JarOutputStream(file, manifest).close();
    }
    return script;
  }

  /** Runs a command that ends by itself. */
  static Outcome run(Path directory, String... words) throws Exception {
    try (CtlProcess ctl = start(directory, words)) {
      assertTrue(ctl.process.waitFor(60, TimeUnit.SECONDS), String.join(" ", words));
      return new Outcome(
          ctl.process.exitValue(), Files.readString(ctl.out), Files.readString(ctl.err));
    }
  }

  /** Returns what it has written so far, which ends with a whole line. */
  String output() throws IOException {
    final String text = Files.readString(out);
    return text.substring(0, text.lastIndexOf('\n') + 1);
  }

  /** Returns all that it has written so far. */
  String written() {
    try {
      return Files.readString(out);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Ends the process, as an interrupt does. */
  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      assertTrue(process.waitFor(10, TimeUnit.SECONDS), "it does not end");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
