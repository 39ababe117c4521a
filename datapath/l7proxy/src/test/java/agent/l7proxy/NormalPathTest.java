package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The normal form of paths. */
class NormalPathTest {
  @ParameterizedTest
  @CsvSource({
    "/, /",
    "/a/b, /a/b",
    "/a//b, /a//b",
    "/./a, /a",
    "/../../a, /a",
    "/a/.., /",
    "/a/b/.., /a/",
    "/a/b/., /a/b/",
    "/a/./b/../c/, /a/c/",
    "/%2e%2E/a, /a",
    "/a/.%2e/b, /b",
    "/..., /...",
    "/.a, /.a",
    "/%41%7e, /A~",
    "/%c3%a9, /%C3%A9",
    "/%252e%252e/a, /%252e%252e/a",
    "/a;x=1/b, /a;x=1/b",
    "/a?b=/../%2f%41\\, /a?b=/../%2f%41\\",
    "/a/..?x, /?x",
  })
  void shouldReturnTheNormalForm(String target, String normal) throws BadRequestException {
    assertEquals(normal, NormalPath.of(target));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "?",
        "/%",
        "/%4",
        "/%4?1",
        "/%zz",
        "/%2f",
        "/%2F",
        "/%5c",
        "/%00",
        "/\\",
        "/#",
        "/a#b",
        "/a?b#c",
        "/ ",
        "/\t",
        "/\u007f",
        "/\u00e9",
        "/..;/a",
        "/.;x",
        "/%2e%2e;/a"
      })
  void shouldRefuse(String target) {
    assertThrows(BadRequestException.class, () -> NormalPath.of(target));
  }

  /** What was normal once stays as it is, and has no dot segment. */
  @Test
  void shouldBeStable() {
    final Random random = new Random(3);
    final String[] parts = {
      "/", ".", "..", "a", "%2e", "%41", "%c3", "%25", ";", "?", "2e", "/../"
    };
    for (int i = 0; i < 50_000; i++) {
      final StringBuilder target = new StringBuilder("/");
      for (int j = random.nextInt(10); j > 0; j--) {
        target.append(parts[random.nextInt(parts.length)]);
      }
      final String normal;
      try {
        normal = NormalPath.of(target.toString());
        assertEquals(normal, NormalPath.of(normal), target.toString());
      } catch (BadRequestException e) {
        continue;
      }
      final String path = normal.split("\\?", 2)[0] + "/";
      assertEquals(-1, path.indexOf("/../"), target.toString());
      assertEquals(-1, path.indexOf("/./"), target.toString());
    }
  }
}
