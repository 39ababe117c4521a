package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.NormalTarget;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
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
    "/%61%7a%41%5A%30%39%2d%5f%2e, /azAZ09-_.",
    "/%60%7b%40%5b%3a%7F%0a%a0%ff, /%60%7B%40%5B%3A%7F%0A%A0%FF",
  })
  void shouldReturnTheNormalForm(String target, String normal) throws BadRequestException {
    assertEquals(normal, NormalPath.of(target, EscapedSlashes.REJECT));
  }

  /** Most paths are normal: they are judged for each request, and none is copied. */
  @ParameterizedTest
  @ValueSource(strings = {"/", "/a/b.c/d..", "/a?b=./%41;\\&c=/../", "/~a-b_c!$&'()*+,=:@"})
  void shouldReturnWhatIsNormalItself(String target) throws BadRequestException {
    assertSame(target, NormalPath.of(target, EscapedSlashes.REJECT));
  }

  @ParameterizedTest
  @CsvSource({
    "/%00, the path encodes a NUL",
    "/%2f, the path encodes a NUL",
    "/%5C, the path encodes a NUL",
    "/%0, incomplete percent-encoding in the path",
    "/%g0, incomplete percent-encoding in the path",
    "/%0g, incomplete percent-encoding in the path",
    "/%4?1, incomplete percent-encoding in the path",
    "/a/..;x, dot segment with parameters in the path",
  })
  void shouldTellWhatIsWrong(String target, String problem) {
    final String message = refusal(target, EscapedSlashes.REJECT);
    assertTrue(message.startsWith(problem), message);
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
    refusal(target, EscapedSlashes.REJECT);
  }

  private static String refusal(String target, EscapedSlashes slashes) {
    return assertThrows(BadRequestException.class, () -> NormalPath.of(target, slashes))
        .getMessage();
  }

  @ParameterizedTest
  @CsvSource({
    "/%2f..%5c, next to an encoded slash",
    "/a%2F., next to an encoded slash",
    "/..;%2f, dot segment with parameters",
    "/%00%2f, encodes a NUL",
    "/%2, incomplete percent-encoding",
    "/%2f%5, incomplete percent-encoding",
  })
  void shouldTellWhatIsWrongWhereItKeepsEscapedSlashes(String target, String problem) {
    final String message = refusal(target, EscapedSlashes.KEEP);
    assertTrue(message.contains(problem), message);
  }

  /** A server that decodes escaped slashes first finds no dot segment. */
  @Test
  void shouldLeaveNoDotSegmentForAServerThatDecodesSlashes() throws BadRequestException {
    final Random random = new Random(5);
    final String[] parts = {"/", ".", "..", "a", "%2e", "%2f", "%2F", "%5c", "%5C", "%25", ";"};
    int kept = 0;
    for (int i = 0; i < 50_000; i++) {
      final StringBuilder target = new StringBuilder("/");
      for (int j = random.nextInt(10); j > 0; j--) {
        target.append(parts[random.nextInt(parts.length)]);
      }
      final String normal;
      try {
        normal = NormalPath.of(target.toString(), EscapedSlashes.KEEP);
      } catch (BadRequestException e) {
        continue;
      }
      assertEquals(normal, NormalPath.of(normal, EscapedSlashes.KEEP), target.toString());
      final String decoded = normal.replaceAll("(?i)%2f|%5c", "/") + "/";
      assertFalse(decoded.matches(".*/\\.{1,2}(;[^/]*)?/.*"), target + " -> " + normal);
      kept += normal.contains("%2f") ? 1 : 0;
    }
    assertTrue(kept > 1_000, kept + " with an escaped slash");
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
        normal = NormalPath.of(target.toString(), EscapedSlashes.REJECT);
        assertEquals(normal, NormalPath.of(normal, EscapedSlashes.REJECT), target.toString());
      } catch (BadRequestException e) {
        continue;
      }
      final String path = normal.split("\\?", 2)[0] + "/";
      assertEquals(-1, path.indexOf("/../"), target.toString());
      assertEquals(-1, path.indexOf("/./"), target.toString());
    }
  }

  /** Rules are warned of by the automaton, and requests are judged by the normal form. */
  @ParameterizedTest
  @EnumSource(EscapedSlashes.class)
  void shouldBeNormalForTheAutomatonExactlyWhereItStays(EscapedSlashes slashes) {
    final String[] parts = {
      "/", ".", "..", "a", ";", "?", "%2e", "%2E", "%41", "%2f", "%2F", "%5c"
    };
    final String[] further = {
      "%5C", "%c3", "%C3", "%Cc", "%00", "%0a", "%7e", "%", "%2", "\\", "#"
    };
    final Random random = new Random(7);
    int normal = 0;
    for (int i = 0; i < 200_000; i++) {
      final StringBuilder target = new StringBuilder(random.nextInt(20) == 0 ? "" : "/");
      for (int count = random.nextInt(8); count > 0; count--) {
        final String[] from = random.nextInt(4) == 0 ? further : parts;
        target.append(from[random.nextInt(from.length)]);
      }
      final String text = target.toString();
      String form;
      try {
        form = NormalPath.of(text, slashes);
        assertTrue(NormalTarget.isNormal(form, slashes == EscapedSlashes.KEEP), form);
      } catch (BadRequestException refused) {
        form = null;
      }
      assertEquals(
          text.equals(form), NormalTarget.isNormal(text, slashes == EscapedSlashes.KEEP), text);
      normal += text.equals(form) ? 1 : 0;
    }
    assertTrue(normal > 10_000, normal + " are normal");
  }
}
