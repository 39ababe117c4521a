package agent.policy.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.re2j.Pattern;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Expressions of HTTP rules. */
class ExpressionTest {
  private static Expression expression(String text) {
    return Expression.parse("f", text, false);
  }

  @Test
  void shouldMatchTheWholeText() {
    assertTrue(expression("/a").matches("/a"));
    assertFalse(expression("/a").matches("/ab"));
    assertFalse(expression("/a").matches("x/a"));
    assertTrue(expression("/a[0-9]").matches("/a1"));
    assertFalse(expression("/a[0-9]").matches("/a12"));
    assertFalse(expression("/a[0-9]").matches("x/a1"));
    assertTrue(expression("a|b[0-9]").matches("a"));
    assertFalse(expression("a|b[0-9]").matches("ab1"));
  }

  @Test
  void shouldFoldTheCaseOfHosts() {
    for (final String text :
        List.of("Shop\\.Example\\.com", "Shop\\.Example\\.(COM|org)", "SHOP.*")) {
      assertTrue(Expression.parse("f", text, true).matches("shop.example.com"), text);
      assertFalse(expression(text).matches("shop.example.com"), text);
    }
  }

  /** Plain text takes another way than other expressions, which must say the same. */
  @Test
  void shouldSayTheSameByBothWays() {
    final Random random = new Random(1);
    final String characters = "ab.*|\\/()?:-";
    int valid = 0;
    for (int i = 0; i < 200_000; i++) {
      final String text = random(random, characters, 1 + random.nextInt(7));
      final Pattern pattern;
      try {
        pattern = Pattern.compile(text, Pattern.DOTALL);
      } catch (com.google.re2j.PatternSyntaxException e) {
        continue;
      }
      valid++;
      final Expression expression = expression(text);
      for (int j = 0; j < 6; j++) {
        final String value = random(random, "ab./-*", random.nextInt(5));
        assertEquals(
            pattern.matches(value), expression.matches(value), () -> text + " on " + value);
      }
    }
    assertTrue(valid > 20_000, "valid: " + valid);
  }

  private static String random(Random random, String characters, int length) {
    final StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append(characters.charAt(random.nextInt(characters.length())));
    }
    return text.toString();
  }

  /** An estimate below the size of the automaton would let a small text fill the heap. */
  @Test
  void shouldNotUnderestimateTheSizeOfAnExpression() {
    final Random random = new Random(2);
    final List<String> parts =
        List.of(
            "a",
            "[]b]",
            "[^]]",
            "[a[]",
            "[\\]]",
            "(",
            ")",
            "(?:",
            "{3}",
            "{2,}",
            "{2,5}",
            "{",
            "\\Qx(\\E",
            "\\{",
            "\\pL",
            "*",
            "+",
            "?",
            "|",
            ".",
            "[[:alpha:]]",
            "{0}",
            "^");
    int valid = 0;
    for (int i = 0; i < 100_000; i++) {
      final StringBuilder text = new StringBuilder();
      for (int j = random.nextInt(10); j >= 0; j--) {
        text.append(parts.get(random.nextInt(parts.size())));
      }
      final Pattern pattern;
      try {
        pattern = Pattern.compile(text.toString());
      } catch (com.google.re2j.PatternSyntaxException e) {
        continue;
      }
      valid++;
      final long states = ExpressionSize.of(text.toString()).states();
      assertTrue(
          pattern.programSize() <= 4 * states + 4,
          () -> text + ": " + pattern.programSize() + " of " + states);
    }
    assertTrue(valid > 10_000, "valid: " + valid);
  }

  @Test
  void shouldMatchInTimeThatIsLinear() {
    final Expression expression = expression("(a|aa)*(b|a+)*[cd]");
    final long start = System.nanoTime();
    assertFalse(expression.matches("a".repeat(8000)));
    assertTrue(System.nanoTime() - start < 20_000_000_000L);
  }

  @Test
  void shouldMatchDeepExpressionsOnASmallStack() throws InterruptedException {
    final Expression deep = expression("(a*)*".repeat(200));
    final boolean[] answer = {false};
    final Thread thread =
        new Thread(null, () -> answer[0] = deep.matches("a".repeat(100)), "small", 512 << 10);
    thread.start();
    thread.join();
    assertTrue(answer[0]);
  }
}
