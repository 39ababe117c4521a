package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LabelTest {
  @ParameterizedTest
  @CsvSource({
    "app, unspec, app, '', unspec:app",
    "app=web, unspec, app, web, unspec:app=web",
    "app=, unspec, app, '', unspec:app",
    "k8s:app=web, k8s, app, web, k8s:app=web",
    "app=a:b=c, unspec, app, a:b=c, unspec:app=a:b=c",
    "k8s:io.kubernetes/x=y, k8s, io.kubernetes/x, y, k8s:io.kubernetes/x=y",
    "cidr:2001:db8::/32, cidr, 2001:db8::/32, '', cidr:2001:db8::/32",
    "reserved:host, reserved, host, '', reserved:host"
  })
  void shouldReadTheDisplayForm(
      String text, String source, String key, String value, String display) {
    final Label label = Label.parse(text);
    assertEquals(new Label(source, key, value), label);
    assertEquals(display, label.toString());
    assertEquals(label, Label.parse(display));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "=x", ":app", ":", "k8s:", "k8s:=x", "a;b", "a=b;c", "a\u0000b", "a\n"})
  void shouldRefuseWhatIsNoLabel(String text) {
    final Refusal refusal = assertThrows(Refusal.class, () -> Label.parse("labels[1]", text));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("labels[1]: "), refusal::getMessage);
  }

  @Test
  void shouldHashTheSerialisedForm() {
    final LabelSet labels = LabelSet.parse("labels", List.of("tier=db", "k8s:app=web", "solo"));
    assertEquals("k8s:app=web;unspec:solo=;unspec:tier=db;", labels.serialised());
    // printf 'k8s:app=web;unspec:solo=;unspec:tier=db;' | sha256sum
    assertEquals(
        "caa5ee42d14b9b9bf7fe46a26eb16d2ffd4adb39747f30ff891c42c0916f8666", labels.sha256());
    assertEquals(List.of("k8s:app=web", "unspec:solo", "unspec:tier=db"), labels.toStrings());
  }

  @Test
  void shouldBeTheSameSetInAnyOrder() {
    final LabelSet one = LabelSet.parse("labels", List.of("a=1", "b=2", "a=1"));
    final LabelSet other = LabelSet.parse("labels", List.of("b=2", "a=1"));
    assertEquals(one, other);
    assertEquals(one.hashCode(), other.hashCode());
    assertEquals(one.sha256(), other.sha256());
    assertEquals(2, one.toStrings().size());
    assertNotEquals(one, LabelSet.parse("labels", List.of("a=1", "k8s:b=2")));
  }

  @Test
  void shouldRefuseTwoValuesOfOneKeyButNotOfTwoSources() {
    assertEquals(
        "labels: conflicting labels 'unspec:a=1' and 'unspec:a=2'",
        assertThrows(Refusal.class, () -> LabelSet.parse("labels", List.of("a=1", "a=2")))
            .getMessage());
    assertEquals(2, LabelSet.parse("labels", List.of("a=1", "k8s:a=2")).toStrings().size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"reserved:host", "cidr:10.0.0.0/8"})
  void shouldNotLetAUserPassForTheHostOrTheWorld(String text) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> LabelSet.parseUser("labels", List.of("app", text)));
    assertTrue(refusal.getMessage().startsWith("labels: '" + text + "'"), refusal::getMessage);
  }

  @Test
  void shouldReplaceALabelOfTheSameName() {
    final LabelSet labels = LabelSet.parse("labels", List.of("a=1", "b=2"));
    assertEquals(List.of("unspec:a=9", "unspec:b=2"), labels.with(Label.parse("a=9")).toStrings());
    assertEquals(List.of("unspec:a=1", "unspec:b=2"), labels.toStrings());
  }

  @Test
  void shouldReadBackEveryLabelItWrites() {
    final Random random = new Random(7);
    final String alphabet = "ab:=/. ";
    int read = 0;
    for (int i = 0; i < 50_000; i++) {
      final StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(8); length > 0; length--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      try {
        final Label label = Label.parse(text.toString());
        assertEquals(label, Label.parse(label.toString()));
        read++;
      } catch (Refusal refusal) {
        assertEquals(Refusal.Kind.INVALID, refusal.kind());
      }
    }
    assertTrue(read > 10_000);
  }
}
