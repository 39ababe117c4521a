package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.maps.btf.generator.JavaNames;
import agent.maps.layout.Numbered;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Finds constants that nothing reads: those of enums of main code, and enum constants and macros of
 * the headers of the BPF programs. A constant of both is used where one language uses it. An enum
 * whose values main code walks, or finds by name, uses all of them.
 */
class UnusedConstantsTest {
  /** What is not used and stays, each with the reason. */
  private static final Map<String, String> EXCEPTIONS =
      Map.of("CONNTRACK_TO_TUNNEL", "packets to other nodes, once there are clusters");

  private static final Path HEADERS = ProjectFiles.ROOT.resolve("bpf-src/include");
  private static final Path PROGRAMS = ProjectFiles.ROOT.resolve("bpf-src/programs");
  private static final Pattern COMMENT = Pattern.compile("(?s)//[^\\n]*|/\\*.*?\\*/");
  private static final Pattern WORD = Pattern.compile("\\b[A-Za-z_]\\w*");
  private static final Pattern ENUM = Pattern.compile("\\benum\\s+(\\w*)\\s*\\{([^}]*)}");
  private static final Pattern ENUM_CONSTANT = Pattern.compile("(?:^|,)\\s*([A-Z]\\w*)");
  private static final Pattern MACRO = Pattern.compile("(?m)^#define (\\w+)(?<!_H)\\b");
  private static final Pattern PASTE =
      Pattern.compile("(?m)^#define (\\w+)\\(\\w+\\).*\\b(\\w+_)##");

  private static final Pattern MEMBER = Pattern.compile("\\b([A-Z]\\w*)\\.([A-Z][A-Z0-9_]*)\\b");

  private static Map<String, Integer> wordsOfC;
  private static Set<String> namesOfC;
  private static Map<String, List<String>> enumsOfC;

  /** The constants of C that Java has, too: whether main code uses them. */
  private static Map<String, Boolean> usedByJava;

  private static Set<String> unusedOfEnums;

  @BeforeAll
  static void read() {
    final String c =
        ProjectFiles.sources()
            .filter(file -> file.startsWith(HEADERS) || file.startsWith(PROGRAMS))
            .map(UnusedConstantsTest::code)
            .collect(Collectors.joining("\n"));
    wordsOfC = new HashMap<>();
    count(WORD.matcher(c).results().map(MatchResult::group));
    PASTE
        .matcher(c)
        .results()
        .forEach(
            paste ->
                count(
                    Pattern.compile("\\b" + paste.group(1) + "\\((\\w+)\\)")
                        .matcher(c)
                        .results()
                        .map(call -> paste.group(2) + call.group(1))));
    namesOfC = new TreeSet<>();
    MACRO.matcher(c).results().forEach(macro -> namesOfC.add(macro.group(1)));
    enumsOfC = new HashMap<>();
    ENUM.matcher(c).results().forEach(found -> readEnum(found.group(1), found.group(2)));
    readJava();
  }

  private static void readEnum(String name, String body) {
    final List<String> constants =
        ENUM_CONSTANT.matcher(body).results().map(constant -> constant.group(1)).toList();
    namesOfC.addAll(constants);
    if (!name.isEmpty() && !constants.isEmpty()) {
      enumsOfC.put(name, constants);
    }
  }

  private static void count(Stream<String> words) {
    words.forEach(word -> wordsOfC.merge(word, 1, Integer::sum));
  }

  private static String code(Path file) {
    return COMMENT.matcher(ProjectFiles.text(file)).replaceAll(" ");
  }

  /** Numbers are searched in the sources, because javac inlines them. */
  private static void readJava() {
    final Set<String> words = new HashSet<>();
    ProjectFiles.sources()
        .filter(file -> file.toString().endsWith(".java"))
        .filter(file -> file.toString().contains("/src/main/"))
        .map(UnusedConstantsTest::code)
        .forEach(
            text -> {
              WORD.matcher(text).results().forEach(word -> words.add(word.group()));
              MEMBER.matcher(text).results().forEach(member -> words.add(member.group()));
            });
    usedByJava = new HashMap<>();
    unusedOfEnums = new TreeSet<>();
    final Map<String, String> prefixes = new HashMap<>();
    enumsOfC.forEach(
        (name, constants) -> {
          final String type = JavaNames.type(name);
          final String prefix = JavaNames.prefix(name, constants);
          prefixes.put(type, prefix);
          for (final String constant : constants) {
            final String inJava = type + '.' + constant.substring(prefix.length());
            usedByJava.put(constant, words.contains(constant) || words.contains(inJava));
          }
        });
    ImportDirectionTest.MainClasses.IMPORTED.stream()
        .filter(JavaClass::isEnum)
        .forEach(
            type -> {
              final boolean isOfC = type.isAssignableTo(Numbered.class);
              readEnum(type, isOfC ? prefixes.get(type.getSimpleName()) : null);
            });
  }

  private static void readEnum(JavaClass type, String prefixOrNull) {
    final boolean isWalked =
        type.getMethodCallsToSelf().stream()
            .anyMatch(call -> Set.of("values", "valueOf").contains(call.getName()));
    for (final JavaField constant : type.getFields()) {
      if (constant.getRawType().equals(type)
          && constant.getModifiers().contains(JavaModifier.STATIC)) {
        final boolean isUsed =
            isWalked
                || constant.getAccessesToSelf().stream()
                    .anyMatch(access -> !isMadeBy(type, access));
        if (prefixOrNull != null) {
          usedByJava.put(prefixOrNull + constant.getName(), isUsed);
        } else if (!isUsed) {
          unusedOfEnums.add(type.getSimpleName() + "." + constant.getName());
        }
      }
    }
  }

  /** The constants are made there. */
  private static boolean isMadeBy(JavaClass type, JavaAccess<?> access) {
    return access.getOriginOwner().equals(type)
        && Set.of("<clinit>", "$values").contains(access.getOrigin().getName());
  }

  @Test
  void shouldUseEveryConstantOfAnEnum() {
    assertEquals("", String.join("\n", unusedOfEnums));
  }

  @Test
  void shouldUseEveryConstantOfTheHeaders() {
    final Set<String> found = unusedOfHeaders();
    found.removeAll(EXCEPTIONS.keySet());
    assertEquals("", String.join("\n", found));
  }

  @Test
  void shouldHaveNoExceptionForWhatIsUsedOrGone() {
    final Set<String> stale = new TreeSet<>(EXCEPTIONS.keySet());
    stale.removeAll(unusedOfHeaders());
    assertTrue(stale.isEmpty(), stale.toString());
    assertTrue(namesOfC.size() > 300, namesOfC.size() + " constants");
  }

  private static Set<String> unusedOfHeaders() {
    return namesOfC.stream()
        .filter(name -> wordsOfC.get(name) == 1 && !usedByJava.getOrDefault(name, false))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
