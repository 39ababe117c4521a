package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LabelPatternTest {
  @ParameterizedTest
  @CsvSource({
    "app=web, k8s:app=web, true",
    "app=web, app=web, true",
    "any:app=web, k8s:app=web, true",
    "any:app=web, app=web, true",
    "k8s:app=web, k8s:app=web, true",
    "k8s:app=web, app=web, false",
    "unspec:app=web, k8s:app=web, false",
    "unspec:app=web, app=web, true",
    "app, app, true",
    "app=, k8s:app, true",
    "app, app=web, false",
    "app=web, app, false",
    "app=web, application=web, false",
    "app=a:b=c, k8s:app=a:b=c, true",
    "cidr:2001:db8::/32, cidr:2001:db8::/32, true",
    "host, reserved:host, true"
  })
  void shouldMatchByKeyAndValueAndBySourceWhereOneIsNamed(
      String pattern, String label, boolean matches) {
    assertEquals(matches, LabelPattern.parse("labels", pattern).matches(Label.parse(label)));
    assertEquals(
        matches,
        LabelPattern.parse("labels", pattern)
            .isMetBy(LabelSet.of(Label.parse("other=1"), Label.parse(label))));
  }

  @Test
  void shouldMatchEveryValueWhereNoneIsGiven() {
    final LabelPattern any = LabelPattern.of("key", "k8s:app", List.of());
    assertTrue(any.matches(Label.parse("k8s:app")));
    assertTrue(any.matches(Label.parse("k8s:app=web")));
    assertEquals(
        new LabelPattern("any", "app", List.of("a", "b")),
        LabelPattern.of("key", "app", List.of("b", "a", "b")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "=x", ":app", ":", "k8s:", "k8s:=x", "a;b", "a=b;c", "a\n"})
  void shouldRefusePatternsThatNoLabelCanMatch(String text) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> LabelPattern.parseAll("labels", List.of("good", text)));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("labels[1]: "), refusal::getMessage);
  }

  @Test
  void shouldNameTheIndexOfAMissingPattern() {
    final Refusal refusal =
        assertThrows(
            Refusal.class, () -> LabelPattern.parseAll("labels", Arrays.asList("good", null)));
    assertEquals("labels[1]: is missing", refusal.getMessage());
  }
}
