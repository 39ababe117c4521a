package agent.policy.read;

import agent.maps.layout.PolicyDirection;
import agent.policy.request.Expression;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** What of the rules of requests no request can match: valid, and not what is meant. */
final class RequestWarnings {
  private static final String CONNECT = "CONNECT";

  /** RFC 9110 section 5.6.2. */
  private static final BitSet TOKEN = characters("!#$%&'*+-.^_`|~", "09azAZ");

  /** RFC 3986 section 3.2.2, in lower case, with a port. */
  private static final BitSet AUTHORITY = characters("._~!$&'()*+,;=%-:[]", "09az");

  /** Fields of one connection, which a proxy removes. */
  private static final Set<String> REMOVED =
      Set.of("connection", "http2-settings", "keep-alive", "proxy-connection");

  private final List<String> warnings = new ArrayList<>();

  private final boolean keepsSlashes;

  private RequestWarnings(boolean keepsSlashes) {
    this.keepsSlashes = keepsSlashes;
  }

  private static BitSet characters(String single, String ranges) {
    final BitSet characters = new BitSet();
    single.chars().forEach(characters::set);
    for (int i = 0; i < ranges.length(); i += 2) {
      characters.set(ranges.charAt(i), ranges.charAt(i + 1) + 1);
    }
    return characters;
  }

  /** Returns the warnings about a valid rule, each with the path that it is about. */
  static List<String> of(int index, RuleSpec rule, boolean keepsSlashes) {
    final RequestWarnings found = new RequestWarnings(keepsSlashes);
    final String path = "[" + index + "].";
    found.elements(path + PolicyDirection.INGRESS.name().toLowerCase(Locale.ROOT), rule.ingress());
    found.elements(path + PolicyDirection.EGRESS.name().toLowerCase(Locale.ROOT), rule.egress());
    return found.warnings;
  }

  private void elements(String path, List<PeerRuleSpec> elements) {
    for (int i = 0; elements != null && i < elements.size(); i++) {
      final List<PortRuleSpec> ports = elements.get(i).toPorts();
      for (int j = 0; ports != null && j < ports.size(); j++) {
        final List<HttpSpec> http =
            ports.get(j).rules() == null ? null : ports.get(j).rules().http();
        for (int k = 0; http != null && k < http.size(); k++) {
          check("%s[%d].toPorts[%d].rules.http[%d]".formatted(path, i, j, k), http.get(k));
        }
      }
    }
  }

  private void check(String path, HttpSpec rule) {
    final Expression method = expression(rule.method(), false);
    if (method != null && !method.matchesSome(TOKEN)) {
      warn(path + ".method", "'" + rule.method() + "' matches no method; A|B means A or B");
    }
    final Expression target = expression(rule.path(), false);
    if (target != null
        && !target.matchesSomeTarget(keepsSlashes)
        && !target.matches("*")
        && (method == null || !method.matches(CONNECT))) {
      warn(
          path + ".path",
          "'"
              + rule.path()
              + "' matches no path: paths begin with / and are normalized before matching");
    }
    final Expression host = expression(rule.host(), true);
    if (host != null && !host.matchesSome(AUTHORITY)) {
      warn(path + ".host", "'" + rule.host() + "' matches no host");
    }
    headers(path, rule);
  }

  private static Expression expression(String text, boolean foldsCase) {
    return text == null ? null : Expression.parse("", text, foldsCase);
  }

  private void headers(String path, HttpSpec rule) {
    final Map<String, String> wanted = new HashMap<>();
    for (int i = 0; rule.headers() != null && i < rule.headers().size(); i++) {
      final String[] parts = rule.headers().get(i).split(":", 2);
      header(
          path + ".headers[" + i + "]",
          parts[0],
          parts.length == 1 ? null : parts[1].strip(),
          wanted);
    }
    for (int i = 0; rule.headerMatches() != null && i < rule.headerMatches().size(); i++) {
      final HeaderMatchSpec match = rule.headerMatches().get(i);
      if (match.mismatch() == null) {
        header(path + ".headerMatches[" + i + "]", match.name(), match.value(), wanted);
      }
    }
  }

  private void header(String path, String name, String value, Map<String, String> wanted) {
    final String key = name.toLowerCase(Locale.ROOT);
    if (REMOVED.contains(key)) {
      warn(path, "'" + name + "' is removed from requests before rules are evaluated");
    }
    final String other = value == null ? null : wanted.putIfAbsent(key, value);
    if (other != null && !other.equals(value)) {
      warn(path, "'" + name + "' cannot have two values: '" + other + "' and '" + value + "'");
    }
  }

  private void warn(String path, String text) {
    warnings.add(path + ": " + text);
  }
}
