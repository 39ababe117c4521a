package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Words that a networking or JVM engineer would have to guess at are not used. */
class VocabularyTest {
  private static final Path LIST = ProjectFiles.ROOT.resolve(".build/vocabulary.txt");
  private static final Set<String> TEXTS =
      Set.of("java", "c", "go", "h", "md", "sh", "yaml", "xml");
  private static final Pattern WORD_BOUNDARY = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");
  private static final Pattern VAGUE_DOCUMENTATION =
      Pattern.compile(
          "/\\*\\*?\\s+(?:\\*\\s+)?(?:Has|Tells|Lets|Gives|Takes)\\b"
              + "|(?m)^// \\w+ (?:has|tells|lets|gives|takes) .*");
  private static final Pattern NO_LETTER = Pattern.compile("[^A-Za-z0-9]+");

  private final Map<Pattern, String> replacements = new LinkedHashMap<>();
  private final List<String> phrases = new ArrayList<>();

  VocabularyTest() {
    for (final String line : ProjectFiles.lines(LIST)) {
      if (line.startsWith("= ")) {
        phrases.add(words(line.substring(2)));
      } else if (!line.isBlank() && !line.startsWith("#")) {
        final int arrow = line.indexOf("->");
        replacements.put(
            Pattern.compile("\\b(" + line.substring(0, arrow).strip() + ")\\b"),
            line.substring(arrow + 2).strip());
      }
    }
  }

  @Test
  void shouldUsePlainTechnicalTerms() {
    final List<String> found = new ArrayList<>();
    ProjectFiles.files(VocabularyTest::isText)
        .forEach(file -> found.addAll(violations(file.toString(), ProjectFiles.lines(file))));
    assertEquals("", String.join("\n", found));
  }

  @Test
  void shouldFindWordsInNamesAndOverLineEnds() {
    assertFalse(violations("file", List.of("class OpenDoors {}")).isEmpty());
    assertFalse(violations("file", List.of("int OPEN_DOOR = 1;")).isEmpty());
    assertFalse(violations("file", List.of(" * what an earlier", " * life of it left")).isEmpty());
    assertEquals(List.of(), violations("file", List.of("class Indoors {}", "")));
    assertEquals(List.of(), violations("file", List.of("Outcome.UNANSWERED", "")));
  }

  @Test
  void shouldSayInDocumentationWhatIsReturnedOrDone() {
    final List<String> found = new ArrayList<>();
    ProjectFiles.sources()
        .filter(VocabularyTest::isText)
        .forEach(
            file -> vague(ProjectFiles.text(file)).forEach(text -> found.add(file + ": " + text)));
    assertEquals("", String.join("\n", found));
  }

  @Test
  void shouldFindVagueDocumentation() {
    assertEquals(1, vague("/** Has the thread end. */").size());
    assertEquals(1, vague("/**\n * Takes a lock.\n */").size());
    assertEquals(1, vague("/* Gives a packet its number. */").size());
    assertEquals(1, vague("type A int\n// Name tells a name.\n").size());
    assertEquals(
        List.of(), vague("/** Ends the thread; Takes part. Hashes a key. */\n// It has\n"));
  }

  private static List<String> vague(String source) {
    return VAGUE_DOCUMENTATION.matcher(source).results().map(MatchResult::group).toList();
  }

  private List<String> violations(String file, List<String> lines) {
    final List<String> found = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      final String line = words(lines.get(i));
      final String next = i + 1 < lines.size() ? " " + words(lines.get(i + 1)) : "";
      String text = line + next;
      for (final String phrase : phrases) {
        text = text.replace(phrase, "-".repeat(phrase.length()));
      }
      for (final Map.Entry<Pattern, String> entry : replacements.entrySet()) {
        final Matcher matcher = entry.getKey().matcher(text);
        while (matcher.find()) {
          if (matcher.start() < line.length()) {
            found.add(
                "%s:%d: '%s': write %s".formatted(file, i + 1, matcher.group(), entry.getValue()));
          }
        }
      }
    }
    return found;
  }

  private static String words(String text) {
    return NO_LETTER
        .matcher(WORD_BOUNDARY.matcher(text).replaceAll(" "))
        .replaceAll(" ")
        .strip()
        .toLowerCase(Locale.ROOT);
  }

  private static boolean isText(Path file) {
    final String path = ProjectFiles.ROOT.relativize(file).toString();
    final String name = file.getFileName().toString();
    if (name.equals(VocabularyTest.class.getSimpleName() + ".java")) {
      return false; // holds such words as examples
    }
    return TEXTS.contains(name.substring(name.lastIndexOf('.') + 1))
        || name.equals("Makefile")
        || path.contains("/src/main/scripts/")
        || path.equals("benchmarks/run")
        || path.startsWith(".build/") && !path.contains("vocabulary");
  }
}
