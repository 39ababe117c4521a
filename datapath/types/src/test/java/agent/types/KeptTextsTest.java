package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each object has its own text, which is written once while it stays. */
class KeptTextsTest {
  /** An object with a text. Two with one text are equal, and two objects. */
  private record Value(String text) {}

  private final List<Value> written = new ArrayList<>();
  private final KeptTexts<Value> texts =
      new KeptTexts<>(
          value -> {
            written.add(value);
            return value.text();
          });

  /** Returns the objects whose text was written for this list. */
  private List<Value> pass(List<Value> list) {
    written.clear();
    final List<Value> passed = new ArrayList<>();
    texts.forEach(
        list,
        (value, text) -> {
          assertEquals(value.text(), text);
          passed.add(value);
        });
    assertEquals(list, passed);
    return List.copyOf(written);
  }

  @Test
  void shouldWriteWhatTheListBeforeDidNotHave() {
    final Value a = new Value("a");
    final Value b = new Value("b");
    final Value c = new Value("c");
    assertEquals(List.of(a, b), pass(List.of(a, b)));
    assertEquals(List.of(), pass(List.of(b, a)));
    assertEquals(List.of(), pass(List.of(a)), "a part of the list");
    assertEquals(List.of(c), pass(List.of(b, c)), "and all of it again");
    assertEquals(List.of(a), pass(List.of(a, c)), "the list before did not have it");
    assertEquals(1, pass(List.of(new Value("a"), c)).size(), "another object");
  }

  @Test
  void shouldKeepNothingBehindAnEmptyList() {
    final Value a = new Value("a");
    pass(List.of(a));
    pass(List.of());
    assertEquals(List.of(a), pass(List.of(a)));
  }

  @Test
  void shouldKeepNoLongText() {
    final Value longest = new Value("x".repeat(KeptTexts.LONGEST));
    final Value longer = new Value("x".repeat(KeptTexts.LONGEST + 1));
    final Value none = new Value(null);
    final List<Value> all = List.of(longest, longer, none);
    assertEquals(all, pass(all));
    assertEquals(List.of(longer, none), pass(all));
  }

  @Test
  void shouldKeepABoundedNumberOfCharacters() {
    final List<Value> all = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      all.add(new Value(String.valueOf(i).repeat(1000)));
    }
    pass(all);
    long characters = all.stream().mapToLong(value -> value.text().length()).sum();
    for (final Value again : pass(all)) {
      characters -= again.text().length();
    }
    assertTrue(characters <= 1 << 20 && characters > (1 << 20) - 4000, "kept: " + characters);
  }
}
