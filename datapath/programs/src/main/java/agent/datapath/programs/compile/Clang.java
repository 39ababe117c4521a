package agent.datapath.programs.compile;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A clang that is installed on this node; it is started without a shell. */
record Clang(String command, String version) {
  private static final long VERSION_SEC = 10;
  private static final long COMPILE_SEC = 60;
  private static final int MESSAGE_LINES = 20;
  private static final Pattern VERSION = Pattern.compile("clang version (\\d+)");

  /** The oldest version whose programs every supported kernel takes. */
  static final int OLDEST = 19;

  /** What can be kept of the way from a source to its object; the flag has clang end there. */
  enum Step {
    PREPROCESSED("-E", ".bpf.i"),
    ASSEMBLY("-S", ".bpf.s");

    private final String flag;
    private final String suffix;

    Step(String flag, String suffix) {
      this.flag = flag;
      this.suffix = suffix;
    }

    String flag() {
      return flag;
    }

    String suffix() {
      return suffix;
    }
  }

  /** Returns the first candidate that can be executed and is not older than {@link #OLDEST}. */
  static Optional<Clang> find(List<String> candidates) {
    for (final String candidate : candidates) {
      try {
        final Result result = run(List.of(candidate, "--version"), null, VERSION_SEC);
        final Clang clang = new Clang(candidate, result.output().lines().findFirst().orElse(""));
        if (result.status() == 0 && !clang.isTooOld()) {
          return Optional.of(clang);
        }
      } catch (IOException notInstalled) {
        // Not installed: the next candidate is tried.
      }
    }
    return Optional.empty();
  }

  private boolean isTooOld() {
    final Matcher matcher = VERSION.matcher(version);
    return matcher.find() && Integer.parseInt(matcher.group(1)) < OLDEST;
  }

  /**
   * Compiles one source file.
   *
   * @param folder root of the source tree, with the folder {@code include}
   * @param source path of the file under the folder
   * @param object path of the object that is written
   * @throws CompileException where clang cannot be started or reports an error
   */
  void compile(Path folder, String source, List<String> flags, Path object) {
    final List<String> line = new ArrayList<>();
    line.add(command);
    line.addAll(flags);
    line.addAll(List.of("-I", "include"));
    for (final String triple : List.of("x86_64-linux-gnu", "aarch64-linux-gnu")) {
      final Path architecture = Path.of("/usr/include", triple);
      if (Files.isDirectory(architecture)) {
        line.addAll(List.of("-idirafter", architecture.toString()));
      }
    }
    line.addAll(List.of("-c", source, "-o", object.toString()));
    try {
      final Result result = run(line, folder, COMPILE_SEC);
      if (result.status() != 0) {
        throw new CompileException(
            source
                + ": "
                + command
                + " exited with status "
                + result.status()
                + ":\n"
                + result.head());
      }
    } catch (IOException failure) {
      throw new CompileException(source + ": " + command + " cannot be started", failure);
    }
  }

  private static Result run(List<String> line, Path folder, long timeoutSec) throws IOException {
    final Path output = Files.createTempFile("clang-", ".log");
    try {
      final Process process =
          new ProcessBuilder(line)
              .directory(folder == null ? null : folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      process.getOutputStream().close();
      if (!process.waitFor(timeoutSec, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
        throw new IOException(line.getFirst() + " still ran after " + timeoutSec + " s");
      }
      final String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
      return new Result(process.exitValue(), text);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException(line.getFirst() + " was interrupted", interrupted);
    } finally {
      Files.delete(output);
    }
  }

  private record Result(int status, String output) {
    String head() {
      return String.join("\n", output.lines().limit(MESSAGE_LINES).toList());
    }
  }
}
