package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.local.LocalAgentCtl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** agentctl as a process, whose output is in two files of a directory. */
final class CtlProcess implements AutoCloseable {
  private final Process process;
  private final Path out;
  private final Path err;

  /** What a process that has ended has written. */
  record Outcome(int exitCode, String out, String err) {}

  private CtlProcess(Path directory, List<String> words) throws IOException {
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
    out = directory.resolve("out");
    err = directory.resolve("err");
    process =
        new ProcessBuilder(line).redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    process.getOutputStream().close();
  }

  static CtlProcess start(Path directory, String... words) throws IOException {
    return new CtlProcess(directory, List.of(words));
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
