package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Lengths and names of files, and one sentence of documentation for each package. */
class SourceTreeTest {
  private static final Path ROOT = ProjectFiles.ROOT;
  private static final int LONGEST = 600;
  private static final int LONGEST_TEST = 800;
  private static final int LONGEST_README = 80;
  private static final Pattern NAMES_NOT_USED =
      Pattern.compile(".*(Util|Utils|Helper|Impl|Base|Common|Info|Data|Manager)");

  @Test
  void shouldKeepFilesShort() {
    final List<String> tooLong =
        ProjectFiles.sources()
            .filter(file -> lines(file) > (isTest(file) ? LONGEST_TEST : LONGEST))
            .map(file -> ROOT.relativize(file) + ": " + lines(file))
            .toList();
    assertEquals(List.of(), tooLong);
  }

  @Test
  void shouldSayInOneSentenceWhatAPackageIs() {
    final Set<String> silent = new TreeSet<>();
    ProjectFiles.sources()
        .filter(file -> file.toString().contains("/src/main/java/"))
        .filter(file -> !file.startsWith(ROOT.resolve("benchmarks"))) // in the measured package
        .map(Path::getParent)
        .distinct()
        .filter(folder -> !Files.exists(folder.resolve("package-info.java")))
        .forEach(folder -> silent.add(ROOT.relativize(folder).toString()));
    assertEquals(Set.of(), silent);
  }

  @Test
  void shouldNotUseNamesThatSayNothing() {
    final List<String> found =
        ProjectFiles.sources()
            .map(file -> file.getFileName().toString())
            .filter(name -> name.endsWith(".java"))
            .map(name -> name.substring(0, name.length() - ".java".length()))
            .filter(name -> NAMES_NOT_USED.matcher(name).matches())
            .filter(name -> !name.equals("DatapathManager"))
            .toList();
    assertEquals(List.of(), found);
  }

  @Test
  void shouldUseEverySimpleNameOnce() {
    final Map<String, List<String>> files =
        ProjectFiles.sources()
            .filter(file -> file.toString().endsWith(".java"))
            .filter(file -> !file.endsWith("package-info.java"))
            .map(ROOT::relativize)
            .collect(
                Collectors.groupingBy(
                    file -> file.getFileName().toString(),
                    TreeMap::new,
                    Collectors.mapping(Path::toString, Collectors.toList())));
    files.values().removeIf(paths -> paths.size() == 1);
    assertEquals(Map.of(), files);
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
  void shouldExplainEveryTopLevelFolderOnAPage() {
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

  private static boolean isTest(Path file) {
    return file.toString().contains("/src/test/")
        || file.toString().contains("/bpf-src/tests/")
        || file.toString().contains("/datapath/testkit/")
        || file.toString().endsWith("_test.go");
  }

  private static int lines(Path file) {
    return ProjectFiles.lines(file).size();
  }
}
