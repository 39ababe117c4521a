package agent.benchmarks;

import agent.testkit.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Compiles and runs the C program with libbpf that does the same work. */
final class CTwin implements AutoCloseable {
  private static final String[] COMPILERS = {"gcc", "cc", "clang", "clang-19", "clang-14"};

  private final Path directory;
  private final Path program;

  private CTwin(Path directory, Path program) {
    this.directory = directory;
    this.program = program;
  }

  /** Compiles the program; prints the reason and returns null if no C compiler succeeds. */
  static CTwin compile(Path source) {
    try {
      final Path directory = Files.createTempDirectory("agent-twin-");
      final Path program = directory.resolve("twin");
      String reason = "no C compiler on PATH";
      for (final String compiler : COMPILERS) {
        if (isOnPath(compiler)) {
          final Commands.Outcome outcome =
              Commands.attempt(
                  compiler, "-O2", source.toString(), "-lbpf", "-o", program.toString());
          if (outcome.status() == 0) {
            return new CTwin(directory, program);
          }
          reason = outcome.output();
        }
      }
      Files.delete(directory);
      System.out.println("No figures in C beside those in Java: " + reason);
      return null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns one result, in ns per operation. */
  double run(Object... arguments) {
    final String[] command = new String[arguments.length + 1];
    command[0] = program.toString();
    for (int i = 0; i < arguments.length; i++) {
      command[i + 1] = arguments[i].toString();
    }
    return Double.parseDouble(Commands.run(command).strip());
  }

  @Override
  public void close() {
    try {
      Files.delete(program);
      Files.delete(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOnPath(String name) {
    for (final String folder : System.getenv("PATH").split(":")) {
      if (Files.isExecutable(Path.of(folder, name))) {
        return true;
      }
    }
    return false;
  }
}
