package agent.policy.read;

import static agent.policy.RuleSpecs.dns;
import static agent.policy.RuleSpecs.egress;
import static agent.policy.RuleSpecs.http;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static agent.policy.RuleSpecs.udp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.policy.rule.Rule;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.Refusal;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code toPorts[].rules}: what is read and what is refused, with its path. */
class RequestRuleReaderTest {
  private static final PortSpec WEB = tcp(80);
  private static final PortSpec NAMES = new PortSpec("53", null, "ANY");

  private static String refusal(RuleSpec rule) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> RuleReader.read(List.of(rule)), rule::toString);
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    return refusal.getMessage();
  }

  private static RequestRuleSpec rules(HttpSpec... http) {
    return new RequestRuleSpec(Arrays.asList(http), null);
  }

  private static HttpSpec headers(String... headers) {
    return new HttpSpec(null, null, null, Arrays.asList(headers), null);
  }

  private static HttpSpec headerMatches(HeaderMatchSpec... matches) {
    return new HttpSpec(null, null, null, null, Arrays.asList(matches));
  }

  private static HttpSpec headerMatch(String name, String value, String mismatch) {
    return headerMatches(new HeaderMatchSpec(name, value, mismatch));
  }

  static Stream<Arguments> badHttp() {
    return Stream.of(
        Arguments.of(
            new RequestRuleSpec(List.of(), null),
            "http: is empty: omit the field to match all requests"),
        Arguments.of(rules((HttpSpec) null), "http[0]: is missing"),
        Arguments.of(
            new RequestRuleSpec(Collections.nCopies(257, headers("X-A")), null),
            "http: has 257 elements, the limit is 256"),
        Arguments.of(
            rules(headers("X-A"), new HttpSpec("GET", "/a(", null, null, null)),
            "http[1].path: '/a(' is not a valid regular expression: missing closing )"),
        Arguments.of(
            rules(new HttpSpec("(?=x)", null, null, null, null)),
            "http[0].method: '(?=x)' is not a valid regular expression: invalid or unsupported Perl syntax"),
        Arguments.of(
            rules(new HttpSpec(null, null, "", null, null)),
            "http[0].host: is empty: omit the field to match every value"),
        Arguments.of(
            rules(new HttpSpec(null, "a".repeat(4097), null, null, null)),
            "http[0].path: has 4097 characters, the limit is 4096"),
        Arguments.of(
            rules(new HttpSpec(null, "((a{100}){100}){100}", null, null, null)),
            "http[0].path: the expression is too large: more than 1024 states; counted"
                + " repetitions add many"),
        Arguments.of(
            rules(new HttpSpec(null, "(".repeat(51) + "a" + ")".repeat(51), null, null, null)),
            "http[0].path: the expression is too large: more than 50 nested groups"),
        Arguments.of(
            rules(headers()), "http[0].headers: is empty: omit the field to match all requests"),
        Arguments.of(rules(headers((String) null)), "http[0].headers[0]: is missing"),
        Arguments.of(
            rules(headers("X-A", "X A: 1")),
            "http[0].headers[1]: 'X A' is not a valid header name"),
        Arguments.of(rules(headers(": 1")), "http[0].headers[0]: '' is not a valid header name"),
        Arguments.of(
            rules(headers("X-A: 1\r\nX-B: 2")),
            "http[0].headers[0]: '1\r\nX-B: 2' is not a valid header value"),
        Arguments.of(
            rules(headerMatch(null, "1", null)), "http[0].headerMatches[0].name: is missing"),
        Arguments.of(
            rules(headerMatch("X-A", "1\u0000", "LOG")),
            "http[0].headerMatches[0].value: '1\u0000' is not a valid header value"),
        Arguments.of(
            rules(headerMatch("X-A", " 1", "LOG")),
            "http[0].headerMatches[0].value: ' 1' is not a valid header value"),
        Arguments.of(
            rules(headerMatch("X-A", "1", "log")),
            "http[0].headerMatches[0].mismatch: 'log' is not one of LOG, ADD, DELETE, REPLACE"),
        Arguments.of(
            rules(headerMatch("X-A", null, "ADD")), "http[0].headerMatches[0].value: is missing"),
        Arguments.of(
            rules(headerMatch("Content-length", "1", "REPLACE")),
            "http[0].headerMatches[0].name: 'Content-length' is a header of the connection"
                + " and cannot be changed"),
        Arguments.of(
            rules(headerMatches((HeaderMatchSpec) null)), "http[0].headerMatches[0]: is missing"));
  }

  @ParameterizedTest
  @MethodSource("badHttp")
  void shouldNameWhatIsWrongWithHttpRules(RequestRuleSpec rules, String message) {
    assertEquals(
        "[0].ingress[0].toPorts[0].rules." + message,
        refusal(ingress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, rules, WEB))));
    assertEquals(
        "[0].egress[0].toPorts[0].rules." + message,
        refusal(egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, rules, WEB))));
  }

  static Stream<Arguments> badDns() {
    return Stream.of(
        Arguments.of(dns(), "dns: is empty: omit the field to match all names"),
        Arguments.of(dns("a b"), "dns[0].matchName: 'a b' is not a DNS name"),
        Arguments.of(dns("a", "*..b"), "dns[1].matchPattern: '*..b' is not a pattern of DNS names"),
        Arguments.of(
            new RequestRuleSpec(null, List.of(new FqdnSpec("a", "*"))),
            "dns[0]: exactly one of matchName and matchPattern is required"),
        Arguments.of(
            new RequestRuleSpec(null, List.of(new FqdnSpec(null, null))),
            "dns[0]: exactly one of matchName and matchPattern is required"));
  }

  @ParameterizedTest
  @MethodSource("badDns")
  void shouldNameWhatIsWrongWithDnsRules(RequestRuleSpec rules, String message) {
    assertEquals(
        "[0].egress[0].toPorts[0].rules." + message,
        refusal(egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, rules, NAMES))));
  }

  static Stream<Arguments> badPorts() {
    return Stream.of(
        Arguments.of(http("GET", null), udp(80), "protocol: 'UDP': http rules require TCP"),
        Arguments.of(
            http("GET", null),
            new PortSpec("80", null, null),
            "protocol: 'ANY': http rules require TCP"),
        Arguments.of(
            http("GET", null),
            new PortSpec(null, null, "ICMP"),
            "protocol: 'ICMP': http rules require TCP"),
        Arguments.of(http("GET", null), tcp(0), "port: '0': http and dns rules require a port"),
        Arguments.of(
            dns("a"),
            new PortSpec("53", null, "SCTP"),
            "protocol: 'SCTP': dns rules require UDP, TCP or ANY"),
        Arguments.of(dns("a"), udp(0), "port: '0': http and dns rules require a port"));
  }

  @ParameterizedTest
  @MethodSource("badPorts")
  void shouldNamePortsThatCannotHaveTheRules(RequestRuleSpec rules, PortSpec port, String message) {
    assertEquals(
        "[0].egress[0].toPorts[0].ports[0]." + message,
        refusal(egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, rules, port))));
  }

  @Test
  void shouldRefuseRulesWhereTheyCannotStand() {
    final RequestRuleSpec none = new RequestRuleSpec(null, null);
    final RequestRuleSpec both = new RequestRuleSpec(http("GET", null).http(), dns("a").dns());
    for (final RequestRuleSpec rules : List.of(none, both)) {
      assertEquals(
          "[0].egress[0].toPorts[0].rules: exactly one of http and dns is required",
          refusal(egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, rules, WEB))));
    }
    assertEquals(
        "[0].ingress[0].toPorts[0].rules.dns: is allowed in egress rules only",
        refusal(ingress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, dns("a"), NAMES))));
    assertEquals(
        "[0].egressDeny[0].toPorts[0].rules: is not allowed in deny rules",
        refusal(
            new RuleSpec(
                SelectorSpec.ALL,
                null,
                null,
                null,
                List.of(on(PeerRuleSpec.ALL, dns("a"), NAMES)),
                null,
                null)));
    assertEquals(
        "[0].ingressDeny[0].toPorts[0].rules: is not allowed in deny rules",
        refusal(
            new RuleSpec(
                SelectorSpec.ALL,
                null,
                null,
                List.of(on(PeerRuleSpec.ALL, http("GET", null), WEB)),
                null,
                null,
                null)));
  }

  /** Two rules that differ in their requests alone are both held. */
  @Test
  void shouldTellRulesApartByTheirRequests() {
    final List<Rule> rules =
        RuleReader.read(
            List.of(
                egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, http("GET", "/a"), WEB)),
                egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, http("GET", "/a"), WEB)),
                egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, http("GET", "/b"), WEB)),
                egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, dns("a"), WEB)),
                egress(SelectorSpec.ALL, on(PeerRuleSpec.ALL, WEB))));
    assertEquals(rules.get(0), rules.get(1));
    for (int i = 2; i < rules.size(); i++) {
      assertNotEquals(rules.get(0), rules.get(i));
    }
  }
}
