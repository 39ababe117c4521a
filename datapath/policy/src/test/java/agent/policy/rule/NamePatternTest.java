package agent.policy.rule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NamePatternTest {
  @ParameterizedTest
  @CsvSource({
    "*, www.example.com, true",
    "*, com, true",
    "*.example.com, www.example.com, true",
    "*.example.com, example.com, false",
    "*.example.com, a.b.example.com, false",
    "*.*.example.com, a.b.example.com, true",
    "*.example.com, www.example.org, false",
    "*.EXAMPLE.com., WWW.example.COM, true",
    "www.example.com, www.example.com, true",
    "www.example.com, wwwxexample.com, false",
    "www.example.com, ww.example.com, false",
    "w*.example.com, www.example.com, true",
    "w*.example.com, aww.example.com, false",
    "*w.example.com, aww.example.com, true",
    "*w.example.com, awwa.example.com, false",
    "a*b*c.x, aXbXbYc.x, true",
    "a*b*c.x, abbc.x, true",
    "a*b*c.x, ac.x, false",
    "a*b*c.x, abcd.x, false",
    "a**.x, a.x, true",
    "**.example.com, www.example.com, true",
    "**.example.com, a.b.c.example.com, true",
    "**.example.com, example.com, false",
    "**.example.com, wwwexample.com, false",
    "**.example.com, example.com.org, false",
    "**.w*.x, a.b.www.x, true",
    "**.w*.x, www.x, false",
    "**.w*.x, a.ww.b.x, false",
    "a.**.x, a.b.x, true",
    "a.**.x, a.b.c.x, false",
    "*a*.x, b.x, false",
    "_srv-*.x, _srv-1.x, true",
    "www.*, www.example.com, false"
  })
  void shouldMatchLabelByLabel(String pattern, String name, boolean isMatch) {
    assertEquals(
        isMatch, NamePattern.parse("p", pattern).matches(NamePattern.name("n", name)), pattern);
  }

  /** Its time would grow with the power of the stars, if each of them was tried again. */
  @Test
  void shouldMatchManyStarsInOneLabel() {
    final NamePattern pattern = NamePattern.parse("p", "*a".repeat(31) + ".x");
    assertFalse(pattern.matches("a".repeat(30) + "b".repeat(33) + ".x."));
    assertTrue(pattern.matches("a".repeat(63) + ".x."));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", ".", "a..b", ".a", "a b", "a/b", "ä.de", "a.b..", "*.a", "a:53", "a,b"})
  void shouldRefuseWhatIsNoName(String text) {
    assertEquals(
        "f: '" + text + "' is not a DNS name",
        assertThrows(Refusal.class, () -> NamePattern.name("f", text)).getMessage());
  }

  @Test
  void shouldHoldNamesToTheLengthsOfDns() {
    final String label = "a".repeat(63);
    final String longest = String.join(".", label, label, label, "a".repeat(61));
    assertEquals(longest + ".", NamePattern.name("f", longest + "."));
    assertThrows(Refusal.class, () -> NamePattern.name("f", longest + "a"));
    assertThrows(Refusal.class, () -> NamePattern.name("f", label + "a.x"));
    final String shown =
        assertThrows(Refusal.class, () -> NamePattern.name("f", "a".repeat(9999))).getMessage();
    assertTrue(shown.length() < 120, shown);
  }

  @Test
  void shouldBeEqualWhereTheyMeanTheSame() {
    final NamePattern name = NamePattern.ofName("f", "WWW.example.com");
    assertEquals(name, NamePattern.parse("f", "www.example.com."));
    assertEquals(name.hashCode(), NamePattern.parse("f", "www.example.com.").hashCode());
    assertNotEquals(name, NamePattern.parse("f", "*.example.com."));
    assertEquals("www.example.com.", name.toString());
    assertTrue(name.isName());
    assertFalse(NamePattern.parse("f", "w*.example.com").isName());
    assertFalse(name.isEvery());
    assertTrue(NamePattern.parse("f", "*").isEvery());
    assertThrows(Refusal.class, () -> NamePattern.parse("f", "*..x"));
    assertThrows(Refusal.class, () -> NamePattern.ofName("f", "*"));
  }
}
