package agent.policy.read;

import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.SelectorSpec;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestWarningsTest {
  private static final String HTTP = "[3].ingress[0].toPorts[0].rules.http[0].";

  private static List<String> warnings(HttpSpec http) {
    return warnings(http, false);
  }

  private static List<String> warnings(HttpSpec http, boolean keepsSlashes) {
    final PeerRuleSpec element =
        on(PeerRuleSpec.ALL, new RequestRuleSpec(List.of(http), null), tcp(80));
    RuleReader.read(0, ingress(SelectorSpec.ALL, element));
    return RuleCheck.warnings(3, ingress(SelectorSpec.ALL, element), keepsSlashes);
  }

  @ParameterizedTest
  @CsvSource({
    "GET POST, ,",
    "'GET,POST', ,",
    "'(GET POST|PUT:)', ,",
    "'[^A-Za-z0-9]/', ,",
    ", admin,",
    ", 'admin/.*',",
    ", '(a|b)/[0-9]+',",
    ", '/a b',",
    ", '/x/%41',",
    ", '/x/%41.*',",
    ", '/[a-z]+/%7[eE]',",
    ", '/x/%c3%a9',",
    ", '/x/\\./y',",
    ", '/x/\\.\\./y.*',",
    ", '/x/\\.\\.?',",
    ", '/\\.;v=1/.*',",
    ", '/x/%2F.*|/%2e',",
    ", '/x#y',",
    ", '(/a|/b)/%00.*',",
    "GET, 'a.test:80',",
    ", , 'http://a.test'",
    ", , 'a test'",
    ", , '[^a-z.]+/'"
  })
  void shouldNameWhatNoRequestCanMatch(String method, String path, String host) {
    final List<String> found = warnings(new HttpSpec(method, path, host, null, null));
    final String field = path != null ? "path" : method != null ? "method" : "host";
    assertEquals(1, found.size(), found::toString);
    assertEquals(HTTP + field, found.getFirst().split(": ", 2)[0]);
  }

  @ParameterizedTest
  @CsvSource({
    "GET|POST, '/', a.test",
    "'G.*', '/.*', 'a\\.test:84'",
    "'[A-Z]+', '.*', '.*'",
    "'(?i)get', '/a%20b\\?x=1', 'A.Test'",
    "GET, '/x/[.%][.4A]?1?', ",
    "GET, '/x/%41|/x/A', ",
    "GET, '/x/%C3%A9', ",
    "GET, '/a//b/\\.hidden/\\.\\.\\./c\\.', ",
    "GET, '/x\\?a=%41/../%2f', ",
    "GET, '/x/.', ",
    "GET, '/x/.*/../y', ",
    "OPTIONS, '\\*', '\\[2001:db8::1\\](:80)?'",
    "CONNECT, 'a.test:80',",
    "', ', '.*/admin', "
  })
  void shouldSayNothingOfWhatOneCanMatch(String method, String path, String host) {
    final String own = method.equals(", ") ? null : method;
    assertEquals(List.of(), warnings(new HttpSpec(own, path, host, null, null)));
  }

  @Test
  void shouldNameEscapedSlashesWhereTheyAreRefused() {
    for (final String path : new String[] {"/a%2Fb", "/a%2fb.*", "/[ab]%5c", "/a%2F..b"}) {
      final HttpSpec http = new HttpSpec(null, path, null, null, null);
      assertEquals(1, warnings(http, false).size(), path);
      assertEquals(List.of(), warnings(http, true));
    }
    for (final String path : new String[] {"/\\.\\.%2Fb", "/a%2F\\.\\.", "/a%2F\\.;b", "/%2F%41"}) {
      assertEquals(1, warnings(new HttpSpec(null, path, null, null, null), true).size(), path);
    }
  }

  @Test
  void shouldNameHeadersThatNoRequestCanHave() {
    assertEquals(
        List.of(
            HTTP + "headers[0]: 'Connection' is removed from requests before rules are evaluated",
            HTTP + "headerMatches[0]: 'x-a' cannot have two values: '1' and '2'"),
        warnings(
            new HttpSpec(
                null,
                null,
                null,
                List.of("Connection", "X-A: 1", "X-B"),
                List.of(
                    new HeaderMatchSpec("x-a", "2", null),
                    new HeaderMatchSpec("X-A", "3", "LOG"),
                    new HeaderMatchSpec("X-B", "3", null)))));
  }

  @Test
  void shouldNameTheElementAndItsDirection() {
    final HttpSpec good = new HttpSpec("GET", null, null, null, null);
    final HttpSpec bad = new HttpSpec("GET POST", null, null, null, null);
    assertEquals(
        List.of(
            "[0].egress[1].toPorts[0].rules.http[1].method: 'GET POST' matches no method;"
                + " A|B means A or B"),
        RuleCheck.warnings(
            0,
            egress(
                SelectorSpec.ALL,
                PeerRuleSpec.ALL,
                on(PeerRuleSpec.ALL, new RequestRuleSpec(List.of(good, bad), null), tcp(80))),
            false));
  }
}
