package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.layout.EnumSpec;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Checks that each kind of mismatch is found. */
class LayoutCheckTest {
  private final Btf btf = c();

  /** Creates the BTF of {@code enum color { COLOR_RED = 1, COLOR_GREEN = 2 }}. */
  private static Btf c() {
    final BtfBuilder builder = new BtfBuilder();
    builder.type(6, false, 2, "color", 4, "COLOR_RED", 1, "COLOR_GREEN", 2);
    return builder.btf();
  }

  @Test
  void shouldFindEveryKindOfEnumMismatch() {
    final EnumSpec good = new EnumSpec("color", Map.of("COLOR_RED", 1L, "COLOR_GREEN", 2L));
    assertEquals(List.of(), new LayoutCheck(btf).enumeration(good).mismatches());
    assertEquals(
        List.of("enum color.COLOR_RED: 3 in Java, 1 in C"),
        new LayoutCheck(btf)
            .enumeration(new EnumSpec("color", Map.of("COLOR_RED", 3L, "COLOR_GREEN", 2L)))
            .mismatches());
    assertEquals(
        List.of("enum color.COLOR_GREEN: not in Java"),
        new LayoutCheck(btf)
            .enumeration(new EnumSpec("color", Map.of("COLOR_RED", 1L)))
            .mismatches());
    assertEquals(
        List.of("enum color.COLOR_BLUE: not in C"),
        new LayoutCheck(btf)
            .enumeration(
                new EnumSpec("color", Map.of("COLOR_RED", 1L, "COLOR_GREEN", 2L, "COLOR_BLUE", 4L)))
            .mismatches());
    assertEquals(
        List.of("enum shape: not in BTF"),
        new LayoutCheck(btf).enumeration(new EnumSpec("shape", Map.of())).mismatches());
  }
}
