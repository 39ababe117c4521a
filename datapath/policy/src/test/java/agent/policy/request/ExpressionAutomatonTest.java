package agent.policy.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The automaton says what re2j says, and allocates nothing. */
class ExpressionAutomatonTest {
  private static final List<String> PARTS =
      List.of(
          "a",
          "b",
          "A",
          "/",
          "-",
          "_",
          ".",
          "[ab]",
          "[^a/]",
          "[]a]",
          "[^]]",
          "[a-c-]",
          "[\\]/]",
          "\\d",
          "\\W",
          "\\pL",
          "\\p{Lu}",
          "[[:alpha:]_]",
          "[[:^digit:]]",
          "\\Qa.*\\E",
          "\\x41",
          "\\x{62}",
          "\\141",
          "\\.",
          "\\n",
          "(",
          ")",
          "(?:",
          "(?P<n>",
          "(?i)",
          "(?i:",
          "(?-s)",
          "(?s-i:",
          "(?m)",
          "(?U:",
          "|",
          "*",
          "+",
          "?",
          "*?",
          "+?",
          "{2}",
          "{0}",
          "{0,2}",
          "{1,}",
          "{,2}",
          "{",
          "{01}",
          "^",
          "$",
          "\\A",
          "\\z",
          "\\b",
          "\\B",
          "k",
          "\u212a",
          "\ud83d\ude00");

  private static final String CHARACTERS = "abcAB/-_.1kK\n]{,2}*";

  /** Fails where a part is taken for another one, or a condition for always true. */
  @Test
  void shouldSayTheSameAsTheAllocatingMatcher() {
    final Random random = new Random(3);
    int automata = 0;
    int matches = 0;
    for (int i = 0; i < 60_000; i++) {
      final StringBuilder text = new StringBuilder();
      for (int j = random.nextInt(8); j >= 0; j--) {
        text.append(PARTS.get(random.nextInt(PARTS.size())));
      }
      final boolean foldsCase = random.nextInt(4) == 0;
      final Pattern pattern = pattern(text.toString(), foldsCase);
      final ExpressionAutomaton automaton =
          pattern == null
              ? null
              : ExpressionAutomaton.of(
                  text.toString(), foldsCase, ExpressionSize.of(text.toString()).states());
      if (automaton == null) {
        continue;
      }
      automata++;
      for (int j = 0; j < 12; j++) {
        final String value = random(random, random.nextInt(6));
        final boolean isMatch = pattern.matches(value);
        matches += isMatch ? 1 : 0;
        assertEquals(isMatch ? 1 : 0, automaton.matches(value), () -> text + " on " + value);
      }
    }
    assertTrue(automata > 5_000 && matches > 5_000, automata + " automata, " + matches);
  }

  private static Pattern pattern(String text, boolean foldsCase) {
    try {
      return Pattern.compile(text, Pattern.DOTALL | (foldsCase ? Pattern.CASE_INSENSITIVE : 0));
    } catch (PatternSyntaxException e) {
      return null;
    }
  }

  private static String random(Random random, int length) {
    final StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
    }
    return text.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/public(/.*)?",
        "/api/v[0-9]+/users/[^/]+",
        "GET|HEAD",
        "(?i)/Api/.*\\.json",
        "(shop|www)\\.example\\.(com|org)",
        "/[a-z0-9]{1,32}/items/\\d{1,10}(\\?.*)?",
        "/\\w+\\b.*"
      })
  void shouldAllocateNothing(String text) {
    final Expression expression = Expression.parse("f", text, false);
    final String[] values = {
      "/public",
      "/public/a?b",
      "/api/v12/users/me",
      "GET",
      "/API/x.json",
      "www.example.org",
      "/abc/items/7"
    };
    final int[] matches = {0};
    final Runnable work =
        () -> {
          for (int i = 0; i < values.length; i++) {
            if (expression.matches(values[i])) {
              matches[0]++;
            }
          }
        };
    assertEquals(0, HeapAllocation.steady(1_000, work));
    assertTrue(matches[0] > 0, text);
  }

  /** An automaton whose size is not bounded would take the heap of the agent. */
  @Test
  void shouldLeaveAnExpressionOfVeryManyStatesToTheAllocatingMatcher() {
    final Expression expression = Expression.parse("f", "(a|b)*a(a|b){20}", false);
    assertTrue(expression.matches("ba" + "b".repeat(20)));
    assertFalse(expression.matches("bb" + "b".repeat(20)));
  }

  @Test
  void shouldJudgeTextThatIsNotAscii() {
    final Expression expression = Expression.parse("f", "/[^/]+", false);
    assertTrue(expression.matches("/\u00e4"));
    assertFalse(expression.matches("/\u00e4/"));
  }
}
