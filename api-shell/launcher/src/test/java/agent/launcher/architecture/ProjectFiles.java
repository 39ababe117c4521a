package agent.launcher.architecture;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The files of the project, as the tests of this package read them. */
final class ProjectFiles {
  /** The folder that holds the Makefile. */
  static final Path ROOT = root();

  private ProjectFiles() {}

  /** The Java, C and Go sources that are written by hand. */
  static Stream<Path> sources() {
    return files(
        file -> {
          final String name = file.toString();
          return name.endsWith(".go")
              || (name.contains("/src/") || file.startsWith(ROOT.resolve("bpf-src")))
                  && (name.endsWith(".java") || name.endsWith(".c") || name.endsWith(".h"));
        });
  }

  /** The files that are neither built nor generated. */
  static Stream<Path> files(Predicate<Path> wanted) {
    try (Stream<Path> files = Files.walk(ROOT)) {
      return files
          .filter(file -> !isBuilt(ROOT.relativize(file).toString()))
          .filter(Files::isRegularFile)
          .filter(wanted)
          .toList()
          .stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String text(Path file) {
    return String.join("\n", lines(file));
  }

  /** What jextract wrote is never edited. */
  private static boolean isBuilt(String path) {
    return path.startsWith(".git")
        || path.startsWith("target/")
        || path.contains("/target/")
        || path.contains("/src/generated/");
  }

  private static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("Makefile"))) {
      folder = folder.getParent();
    }
    return folder;
  }
}
