package agent.launcher.process;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Random rules of lookups and of names, and what they say of a lookup, and of a connection to an
 * address of a name: every rule is read for each of them, without identities, entries of maps or a
 * proxy.
 */
final class LookupRuleModel {
  static final int SERVED_PORT = 8080;
  static final List<String> APPS = List.of("a", "b", "c");
  static final List<String> NAMES =
      List.of(
          "www.example.com",
          "web.example.com",
          "api.example.com",
          "v1.api.example.com",
          "www.example.org",
          "example.org");

  private static final List<String> PATTERNS =
      List.of("*", "*.example.com", "w*.example.com", "*.*.example.com", "*.org", "*.example.*");
  private static final List<String> RESOLVERS =
      List.of("192.0.2.2/32", "2001:db8:2::2/128", "192.0.2.0/24", "2001:db8:2::/64");

  private final Random random;

  LookupRuleModel(long seed) {
    random = new Random(seed);
  }

  /** What becomes of a lookup. */
  enum Verdict {
    /** No rule is for the client, or one opens the port of the server wholly. */
    OPEN,
    /** A rule lists the name. */
    ALLOWED,
    /** Rules list other names. */
    REFUSED,
    DROPPED
  }

  /** The address of a name in a family. */
  static String address(String name, boolean isIpv6) {
    return (isIpv6 ? "2001:db8:2::1" : "192.0.2.1") + (10 + NAMES.indexOf(name));
  }

  /**
   * A lookup.
   *
   * @param isIpv6 the family of the server's address
   * @param written the name as the client writes it
   * @param isIpv6Address the family that is asked for
   */
  record Lookup(
      String app,
      boolean isTcp,
      boolean isIpv6,
      String name,
      String written,
      boolean isIpv6Address) {
    String address() {
      return LookupRuleModel.address(name, isIpv6Address);
    }

    String transport() {
      return (isTcp ? "TCP" : "UDP") + (isIpv6 ? " IPv6" : " IPv4");
    }
  }

  /** Names of a rule, by a name or a pattern. */
  private record Names(String name, String pattern) {
    boolean mean(String asked) {
      if (name != null) {
        return name.equalsIgnoreCase(asked);
      }
      final String expression =
          pattern.equals("*") ? ".*" : pattern.replace(".", "\\.").replace("*", "[-a-z0-9_]*");
      return Pattern.matches(expression, asked);
    }

    Map<String, String> written() {
      return name == null ? Map.of("matchPattern", pattern) : Map.of("matchName", name);
    }
  }

  /** What a rule is about. */
  private enum Kind {
    LOOKUPS,
    OPEN,
    DENIED,
    NAMES
  }

  /**
   * A rule with one element.
   *
   * @param app null for all workloads
   * @param resolver the addresses of the server; null for all
   * @param protocol of the server's port
   */
  record Rule(String app, Kind kind, String resolver, String protocol, List<Names> names) {
    private boolean selects(Lookup lookup) {
      return app == null || app.equals(lookup.app);
    }

    private boolean meansServer(Lookup lookup) {
      return kind != Kind.NAMES
          && (protocol.equals("ANY") || protocol.equals("TCP") == lookup.isTcp)
          && (resolver == null || resolver.indexOf(':') >= 0 == lookup.isIpv6);
    }

    private boolean meansName(Lookup lookup) {
      return names.stream().anyMatch(each -> each.mean(lookup.name));
    }

    Map<String, Object> written() {
      final Map<String, Object> ports = new HashMap<>();
      final String port = Integer.toString(kind == Kind.NAMES ? SERVED_PORT : 53);
      ports.put("ports", List.of(Map.of("port", port, "protocol", protocol)));
      final Map<String, Object> element = new HashMap<>();
      element.put("toPorts", List.of(ports));
      final List<Map<String, String>> written = names.stream().map(Names::written).toList();
      if (kind == Kind.LOOKUPS) {
        ports.put("rules", Map.of("dns", written));
      } else if (kind == Kind.NAMES) {
        element.put("toFQDNs", written);
      }
      if (resolver != null) {
        element.put("toCIDR", List.of(resolver));
      }
      return Map.of(
          "labels",
          List.of(Map.of("key", "random")), // what replaces rules are others with their labels
          "endpointSelector",
          Map.of("matchLabels", app == null ? Map.of() : Map.of("app", app)),
          kind == Kind.DENIED ? "egressDeny" : "egress",
          List.of(element));
    }
  }

  static Verdict verdict(List<Rule> rules, Lookup lookup) {
    final List<Rule> own = rules.stream().filter(rule -> rule.selects(lookup)).toList();
    final List<Rule> meant = own.stream().filter(rule -> rule.meansServer(lookup)).toList();
    if (meant.stream().anyMatch(rule -> rule.kind == Kind.DENIED)) {
      return Verdict.DROPPED;
    }
    if (own.isEmpty() || meant.stream().anyMatch(rule -> rule.kind == Kind.OPEN)) {
      return Verdict.OPEN;
    }
    if (meant.isEmpty()) {
      return Verdict.DROPPED;
    }
    return meant.stream().anyMatch(rule -> rule.meansName(lookup))
        ? Verdict.ALLOWED
        : Verdict.REFUSED;
  }

  /**
   * Returns whether a connection to the address of a lookup passes.
   *
   * @param learned the addresses that allowed lookups have found
   */
  static boolean connects(List<Rule> rules, Lookup lookup, Set<String> learned) {
    final List<Rule> own = rules.stream().filter(rule -> rule.selects(lookup)).toList();
    return own.isEmpty()
        || learned.contains(lookup.address())
            && own.stream().anyMatch(rule -> rule.kind == Kind.NAMES && rule.meansName(lookup));
  }

  /** Returns one to four rules. */
  List<Rule> rules() {
    final List<Rule> rules = new ArrayList<>();
    for (int i = random.nextInt(4); i >= 0; i--) {
      rules.add(rule());
    }
    return rules;
  }

  private Rule rule() {
    final String app = random.nextInt(3) == 0 ? pick(APPS) : null;
    final String resolver = random.nextInt(3) == 0 ? pick(RESOLVERS) : null;
    return switch (random.nextInt(12)) {
      case 0 -> new Rule(app, Kind.OPEN, resolver, pick(List.of("UDP", "TCP", "ANY")), List.of());
      case 1 -> new Rule(app, Kind.DENIED, resolver, pick(List.of("UDP", "TCP", "ANY")), List.of());
      case 2, 3, 4, 5 -> new Rule(app, Kind.NAMES, null, "TCP", someNames());
      default -> new Rule(app, Kind.LOOKUPS, resolver, pick(List.of("UDP", "TCP")), someNames());
    };
  }

  private List<Names> someNames() {
    final List<Names> names = new ArrayList<>();
    for (int i = random.nextInt(2); i < 2; i++) {
      names.add(
          random.nextBoolean() ? new Names(pick(NAMES), null) : new Names(null, pick(PATTERNS)));
    }
    return names;
  }

  Lookup lookup() {
    final String name = pick(NAMES);
    return new Lookup(
        pick(APPS),
        random.nextInt(3) == 0,
        random.nextBoolean(),
        name,
        mixed(name),
        random.nextBoolean());
  }

  /** Writes some letters as capitals, as resolvers do against forged answers. */
  private String mixed(String name) {
    final StringBuilder mixed = new StringBuilder();
    for (int i = 0; i < name.length(); i++) {
      final String letter = name.substring(i, i + 1);
      mixed.append(random.nextBoolean() ? letter.toUpperCase(Locale.ROOT) : letter);
    }
    return mixed.toString();
  }

  /** Returns whether a connection is to be for another lookup. */
  boolean isOther() {
    return random.nextBoolean();
  }

  private <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }
}
