package agent.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTargetTest {
  @Test
  void shouldDecodeEachSegmentByItself() {
    final RequestTarget target =
        RequestTarget.parse("/endpoint/pod-name:a%3Ab/%C3%A9+x", "labels=a%26b&labels=c+d&x=&y");
    assertEquals(List.of("endpoint", "pod-name:a:b", "é+x"), target.segments());
    assertEquals(
        Map.of("labels", List.of("a&b", "c d"), "x", List.of(""), "y", List.of("")),
        target.query());
  }

  @Test
  void shouldReadTheAbsoluteForm() {
    assertEquals(
        List.of("map", "x"), RequestTarget.parse("http://localhost/map/x", null).segments());
    assertEquals(List.of(""), RequestTarget.parse("http://localhost", "").segments());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "x", "*", "/%", "/%2", "/%2g", "/%zz", "/a%2Fb", "/a%00b", "/%0a", "/%7f", "/%ff",
        "/%c3", "/%c0%af", "/é"
      })
  void shouldRefuseWhatIsNoPath(String path) {
    final HttpRefusal refusal =
        assertThrows(HttpRefusal.class, () -> RequestTarget.parse(path, null));
    assertEquals(400, refusal.status());
  }

  @Test
  void shouldNotTakeASchemeInThePathForAnAuthority() {
    assertEquals(List.of("a:", "", "b"), RequestTarget.parse("/a://b", null).segments());
    assertEquals(List.of("b"), RequestTarget.parse("http://a/b", null).segments());
    assertEquals(List.of("b", ""), RequestTarget.parse("http:///b/", null).segments());
    assertRefused("path: does not start with '/'", "http:/a", null);
    assertRefused("path: does not start with '/'", "://a/b", null);
  }

  @Test
  void shouldDecodeTheEdgesOfWhatIsAllowed() {
    assertEquals(List.of(" ", "~", "%"), RequestTarget.parse("/%20/%7e/%25", null).segments());
    assertEquals(List.of("\u007e"), RequestTarget.parse("/\u007e", null).segments());
    assertEquals(List.of("aé"), RequestTarget.parse("/a%C3%a9", null).segments());
    assertEquals(
        Map.of("a", List.of("/", "1=2"), "", List.of("x"), "b c", List.of("")),
        RequestTarget.parse("/", "&a=%2F&a=1=2&&=x&b+c").query());
  }

  @Test
  void shouldNameWhatIsMalformed() {
    assertRefused("path: malformed percent escape in 'a%zz'", "/a%zz", null);
    assertRefused("path: malformed percent escape in '%2'", "/%2", null);
    assertRefused("path: malformed percent escape in '%2z'", "/%2z", null);
    assertRefused("path: contains a control character", "/%1f", null);
    assertRefused("path: contains a control character", "/%7F", null);
    assertRefused("path: a path segment contains '/'", "/a%2f", null);
    assertRefused("path: a character is not percent-encoded", "/\u0080", null);
    assertRefused("path: is not UTF-8", "/%c3", null);
    assertRefused("query: malformed percent escape in '%zz'", "/", "%zz=1");
    assertRefused("query: contains a control character", "/", "%00");
    assertRefused("labels: malformed percent escape in '%'", "/", "labels=%");
    assertRefused("labels: is not UTF-8", "/", "labels=%ff");
  }

  private static void assertRefused(String message, String target, String query) {
    final HttpRefusal refusal =
        assertThrows(HttpRefusal.class, () -> RequestTarget.parse(target, query), target);
    assertEquals("400 " + message, refusal.status() + " " + refusal.getMessage());
  }

  /** Whatever is asked for, it is read or refused, and what is read has no separator in it. */
  @Test
  void shouldReadOrRefuseAnything() {
    final Random random = new Random(4242);
    final String alphabet = "/%?&=+:.~ab01fF\u00e9\u0000 %2%2f%00%c3%a9";
    for (int round = 0; round < 200_000; round++) {
      final String path = "/" + random(random, alphabet);
      final String query = random(random, alphabet);
      try {
        final RequestTarget target = RequestTarget.parse(path, query);
        for (final String segment : target.segments()) {
          assertTrue(segment.indexOf('/') < 0 && segment.indexOf(0) < 0, segment);
        }
        final String again =
            new String(
                String.join("/", target.segments()).getBytes(StandardCharsets.UTF_8),
                StandardCharsets.UTF_8);
        assertEquals(String.join("/", target.segments()), again);
      } catch (HttpRefusal refusal) {
        assertEquals(400, refusal.status());
        assertTrue(refusal.getMessage().contains(": "), refusal.getMessage());
      }
    }
  }

  private static String random(Random random, String alphabet) {
    final StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(20); i > 0; i--) {
      text.append(alphabet.charAt(random.nextInt(alphabet.length())));
    }
    return text.toString();
  }
}
