package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** How the source tree looks: lengths, names, one sentence a package. */
class SourceTreeTest {
  private static final Path ROOT = root();
  private static final int LONGEST = 500;
  private static final int LONGEST_TEST = 800;
  private static final int LONGEST_README = 80;
  private static final Pattern NAMES_NOT_USED =
      Pattern.compile(".*(Util|Utils|Helper|Impl|Base|Common|Info|Data|Manager)");

  @Test
  void shouldKeepFilesShort() throws IOException {
    final List<String> tooLong =
        sources()
            .filter(file -> lines(file) > (isTest(file) ? LONGEST_TEST : LONGEST))
            .map(file -> ROOT.relativize(file) + ": " + lines(file))
            .toList();
    assertEquals(List.of(), tooLong);
  }

  @Test
  void shouldSayInOneSentenceWhatAPackageIs() throws IOException {
    final Set<String> silent = new TreeSet<>();
    sources()
        .filter(file -> file.toString().contains("/src/main/java/"))
        .filter(file -> !file.startsWith(ROOT.resolve("benchmarks"))) // in the measured package
        .map(Path::getParent)
        .distinct()
        .filter(folder -> !Files.exists(folder.resolve("package-info.java")))
        .forEach(folder -> silent.add(ROOT.relativize(folder).toString()));
    assertEquals(Set.of(), silent);
  }

  @Test
  void shouldNotUseNamesThatSayNothing() throws IOException {
    final List<String> found =
        sources()
            .map(file -> file.getFileName().toString())
            .filter(name -> name.endsWith(".java"))
            .map(name -> name.substring(0, name.length() - ".java".length()))
            .filter(name -> NAMES_NOT_USED.matcher(name).matches())
            .filter(name -> !name.equals("DatapathManager"))
            .toList();
    assertEquals(List.of(), found);
  }

  @Test
  void shouldHaveNothingElseAtTheTop() throws IOException {
    try (Stream<Path> entries = Files.list(ROOT)) {
      final Set<String> names = new TreeSet<>();
      entries
          .map(entry -> entry.getFileName().toString())
          .filter(name -> !name.startsWith(".") && !name.equals("target"))
          .forEach(names::add);
      assertEquals(
          new TreeSet<>(
              List.of(
                  "CHANGELOG.md",
                  "LICENSE",
                  "Makefile",
                  "README.md",
                  "api-shell",
                  "benchmarks",
                  "bpf-src",
                  "conntrack",
                  "datapath",
                  "maps",
                  "native-bindings",
                  "pom.xml")),
          names);
    }
  }

  @Test
  void shouldExplainEveryTopLevelFolderOnAPage() throws IOException {
    for (final String folder :
        List.of(
            "api-shell",
            "benchmarks",
            "bpf-src",
            "conntrack",
            "datapath",
            "maps",
            "native-bindings")) {
      final Path readme = ROOT.resolve(folder).resolve("README.md");
      assertTrue(Files.exists(readme), folder + " has no README.md");
      assertTrue(lines(readme) <= LONGEST_README, readme + ": " + lines(readme) + " lines");
    }
  }

  private static Stream<Path> sources() throws IOException {
    try (Stream<Path> files = Files.walk(ROOT)) {
      return files
          .filter(
              file -> {
                final String name = file.toString();
                return name.contains("/src/") || name.startsWith(ROOT.resolve("bpf-src") + "/");
              })
          .filter(file -> !file.toString().contains("/target/"))
          .filter(file -> !isGenerated(file))
          .filter(
              file -> {
                final String name = file.getFileName().toString();
                return name.endsWith(".java") || name.endsWith(".c") || name.endsWith(".h");
              })
          .toList()
          .stream();
    }
  }

  /** What jextract wrote is never edited, and so is not judged either. */
  private static boolean isGenerated(Path file) {
    return file.toString().contains("/agent/bindings/libbpf/");
  }

  private static boolean isTest(Path file) {
    return file.toString().contains("/src/test/")
        || file.toString().contains("/bpf-src/tests/")
        || file.toString().contains("/datapath/testkit/");
  }

  private static long lines(Path file) {
    try (Stream<String> lines = Files.lines(file, StandardCharsets.UTF_8)) {
      return lines.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("Makefile"))) {
      folder = folder.getParent();
    }
    return folder;
  }
}
