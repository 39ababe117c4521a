package agent.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TextTest {
  @Test
  void shouldShowADashWhereThereIsNothing() {
    assertEquals("-", Text.of(null));
    assertEquals("-", Text.of(""));
    assertEquals("-", Text.of(List.of()));
    assertEquals("-", Text.of(Map.of()));
    assertEquals("-,a", Text.of(List.of("", "a")));
    assertEquals("a=-,b=1", Text.of(Map.of("b", 1, "a", "")));
  }

  @Test
  void shouldReplaceControlCharactersAndNothingElse() {
    assertEquals(
        "a?b??c\ud83d\ude00 ~\u00a0", Text.oneLine("a\nb\u001b\u009fc\ud83d\ude00 ~\u00a0"));
    assertEquals("plain", Text.oneLine("plain"));
    assertEquals("", Text.oneLine(null));
  }
}
