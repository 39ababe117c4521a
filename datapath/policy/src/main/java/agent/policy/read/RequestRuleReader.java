package agent.policy.read;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.Expression;
import agent.policy.request.HttpRule;
import agent.policy.request.HttpRule.Header;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.rule.NamePattern;
import agent.policy.rule.RequestRules;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** Checks {@code toPorts[].rules}. */
final class RequestRuleReader {
  private static final int MOST_RULES = 256;
  private static final int MOST_HEADERS = 32;
  private static final int LONGEST_HEADER = 4096;

  /** RFC 9110, section 5.6.2. */
  private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");

  /** RFC 9110, section 5.5: no control characters, and none of it is space at the ends. */
  private static final Pattern VALUE =
      Pattern.compile("([^\\p{Cntrl} ]([^\\p{Cntrl}]|\t)*(?<![ \t]))?");

  /** Fields that say where a message ends, whom it is for and what a connection does. */
  private static final Set<String> FIXED =
      Set.of(
          "connection",
          "content-length",
          "host",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  private RequestRuleReader() {}

  /**
   * Reads the rules of an element.
   *
   * @throws Refusal INVALID naming the path
   */
  static RequestRules read(
      String path, RequestRuleSpec spec, PolicyDirection direction, boolean deny) {
    if (deny) {
      throw Refusal.invalid(path, "is not allowed in deny rules");
    }
    if ((spec.http() == null) == (spec.dns() == null)) {
      throw Refusal.invalid(path, "exactly one of http and dns is required");
    }
    if (spec.http() != null) {
      final String field = path + ".http";
      checkCount(field, spec.http(), "requests", MOST_RULES);
      return new RequestRules(RedirectKind.HTTP, http(field, spec.http()), List.of());
    }
    final String field = path + ".dns";
    if (direction != PolicyDirection.EGRESS) {
      throw Refusal.invalid(field, "is allowed in egress rules only");
    }
    checkCount(field, spec.dns(), "names", MOST_RULES);
    return new RequestRules(RedirectKind.DNS, List.of(), names(field, spec.dns()));
  }

  private static void checkCount(String path, List<?> list, String what, int most) {
    if (list.isEmpty()) {
      throw Refusal.invalid(path, "is empty: omit the field to match all " + what);
    }
    if (list.size() > most) {
      throw Refusal.invalid(path, "has %d elements, the limit is %d".formatted(list.size(), most));
    }
  }

  /** Reads {@code matchName} or {@code matchPattern}. */
  static NamePattern name(String path, FqdnSpec spec) {
    if ((spec.matchName() == null) == (spec.matchPattern() == null)) {
      throw Refusal.invalid(path, "exactly one of matchName and matchPattern is required");
    }
    return spec.matchName() != null
        ? NamePattern.ofName(path + ".matchName", spec.matchName())
        : NamePattern.parse(path + ".matchPattern", spec.matchPattern());
  }

  private static List<NamePattern> names(String path, List<FqdnSpec> specs) {
    final List<NamePattern> names = new ArrayList<>();
    for (int i = 0; i < specs.size(); i++) {
      final String field = path + "[" + i + "]";
      names.add(name(field, RuleReader.present(field, specs.get(i))));
    }
    return List.copyOf(names);
  }

  private static List<HttpRule> http(String path, List<HttpSpec> specs) {
    final List<HttpRule> rules = new ArrayList<>();
    for (int i = 0; i < specs.size(); i++) {
      final String field = path + "[" + i + "]";
      rules.add(http(field, RuleReader.present(field, specs.get(i))));
    }
    return List.copyOf(rules);
  }

  private static HttpRule http(String path, HttpSpec spec) {
    final List<Header> headers = new ArrayList<>();
    final List<HeaderChange> changes = new ArrayList<>();
    if (spec.headers() != null) {
      checkCount(path + ".headers", spec.headers(), "requests", MOST_HEADERS);
      for (int i = 0; i < spec.headers().size(); i++) {
        final String field = path + ".headers[" + i + "]";
        headers.add(header(field, RuleReader.present(field, spec.headers().get(i))));
      }
    }
    if (spec.headerMatches() != null) {
      checkCount(path + ".headerMatches", spec.headerMatches(), "requests", MOST_HEADERS);
      for (int i = 0; i < spec.headerMatches().size(); i++) {
        final String field = path + ".headerMatches[" + i + "]";
        read(field, RuleReader.present(field, spec.headerMatches().get(i)), headers, changes);
      }
    }
    return new HttpRule(
        expression(path + ".method", spec.method(), false),
        expression(path + ".path", spec.path(), false),
        expression(path + ".host", spec.host(), true),
        List.copyOf(headers),
        List.copyOf(changes));
  }

  private static Expression expression(String path, String text, boolean foldsCase) {
    return text == null ? null : Expression.parse(path, text, foldsCase);
  }

  private static Header header(String path, String text) {
    final int colon = text.indexOf(':');
    return colon < 0
        ? new Header(headerName(path, text), null)
        : new Header(
            headerName(path, text.substring(0, colon)),
            headerValue(path, text.substring(colon + 1).strip()));
  }

  private static void read(
      String path, HeaderMatchSpec spec, List<Header> headers, List<HeaderChange> changes) {
    final String name = headerName(path + ".name", RuleReader.present(path + ".name", spec.name()));
    final String value = spec.value() == null ? null : headerValue(path + ".value", spec.value());
    if (spec.mismatch() == null) {
      headers.add(new Header(name, value));
      return;
    }
    final Action action = action(path + ".mismatch", spec.mismatch());
    if (action != Action.LOG) {
      RuleReader.present(path + ".value", value);
      if (FIXED.contains(name.toLowerCase(Locale.ROOT))) {
        throw Refusal.invalid(
            path + ".name", "'" + name + "' is a header of the connection and cannot be changed");
      }
    }
    changes.add(new HeaderChange(action, name, value));
  }

  private static Action action(String path, String text) {
    for (final Action action : Action.values()) {
      if (action.name().equals(text)) {
        return action;
      }
    }
    throw Refusal.invalid(path, "'" + text + "' is not one of LOG, ADD, DELETE, REPLACE");
  }

  private static String headerName(String path, String text) {
    if (text.length() > LONGEST_HEADER || !TOKEN.matcher(text).matches()) {
      throw Refusal.invalid(path, "'" + shown(text) + "' is not a valid header name");
    }
    return text;
  }

  private static String headerValue(String path, String text) {
    if (text.length() > LONGEST_HEADER || !VALUE.matcher(text).matches()) {
      throw Refusal.invalid(path, "'" + shown(text) + "' is not a valid header value");
    }
    return text;
  }

  private static String shown(String text) {
    return text.length() > 64 ? text.substring(0, 64) + "..." : text;
  }
}
