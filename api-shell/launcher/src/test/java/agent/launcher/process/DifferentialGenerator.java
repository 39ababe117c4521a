package agent.launcher.process;

import agent.launcher.process.DifferentialModel.Request;
import agent.launcher.process.DifferentialRules.Cidr;
import agent.launcher.process.DifferentialRules.Field;
import agent.launcher.process.DifferentialRules.Http;
import agent.launcher.process.DifferentialRules.Names;
import agent.launcher.process.DifferentialRules.Peers;
import agent.launcher.process.DifferentialRules.Ports;
import agent.launcher.process.DifferentialRules.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Generates rules, requests and names: the values are few and close together, so that rules overlap
 * and flows hit their boundaries.
 */
final class DifferentialGenerator {
  static final int FIRST_TCP = 8080;
  static final int FIRST_UDP = 53;
  static final int PORTS = 3;

  /** Names of hosts outside, and of what no name can open: a workload, the node, loopback. */
  static final List<String> NAMES =
      List.of(
          "www.example.com",
          "web.example.com",
          "v1.api.example.com",
          "www.example.org",
          "workload.example.com",
          "node.example.com",
          "loopback.example.com");

  private static final List<String> PATTERNS =
      List.of(
          "*",
          "*.example.com",
          "w*.example.com",
          "*.*.example.com",
          "**.com",
          "**.api.example.*",
          "**.web.example.com");
  private static final List<Map<String, String>> SELECTORS =
      List.of(
          Map.of("app", "a"),
          Map.of("app", "b"),
          Map.of("app", "c"),
          Map.of("tier", "x"),
          Map.of("tier", "y"),
          Map.of());
  private static final List<String> ENTITIES =
      List.of("all", "world", "world-ipv4", "world-ipv6", "cluster", "host", "remote-node");
  private static final List<Cidr> CIDRS =
      List.of(
          new Cidr("0.0.0.0/0", List.of()),
          new Cidr("0.0.0.0/0", List.of("192.0.2.3/32")),
          new Cidr("192.0.2.0/24", List.of()),
          new Cidr("192.0.2.0/24", List.of("192.0.2.4/31", "192.0.2.1/32")),
          new Cidr("192.0.2.2/32", List.of()),
          new Cidr("10.0.0.0/8", List.of()),
          new Cidr("127.0.0.0/8", List.of()),
          new Cidr("::/0", List.of()),
          new Cidr("::/0", List.of("2001:db8:2::3/128")),
          new Cidr("2001:db8:2::/64", List.of()),
          new Cidr("2001:db8:2::2/128", List.of()),
          new Cidr("64:ff9b::/96", List.of()),
          new Cidr("::ffff:0:0/96", List.of()),
          new Cidr("fd00::/8", List.of()));
  private static final List<String> METHODS = List.of("GET", "GET|PUT", "P.*", "[A-Z]{3}", ".*");
  private static final List<String> PATHS =
      List.of("/", "/a", "/a/.*", "/a/[0-9]+", "/.*\\.html", "/a|/b/.*", "/a\\?b=1", ".*");
  private static final List<String> HOSTS =
      List.of(
          "shop\\.example\\.com",
          "SHOP.*",
          ".*\\.example\\.com",
          "(Shop|pay)\\..*",
          "shop\\.example\\.com:84",
          ".*:(80|84)");

  private final Random random;

  DifferentialGenerator(long seed) {
    random = new Random(new SplittableRandom(seed).nextLong()); // seeds may follow each other
  }

  /** Returns one to eight rules; most often some are for requests of all peers. */
  List<Rule> rules() {
    final List<Rule> rules = new ArrayList<>();
    for (int i = random.nextInt(6); i >= 0; i--) {
      rules.add(rule());
    }
    for (final boolean isIngress : List.of(false, true)) {
      if (random.nextInt(3) != 0) {
        rules.add(random.nextInt(rules.size() + 1), forRequests(isIngress));
      }
    }
    return rules;
  }

  private Rule forRequests(boolean isIngress) {
    final List<Ports> ports = new ArrayList<>();
    ports.add(new Ports(FIRST_TCP, FIRST_TCP + PORTS - 1, "TCP", requests(), null));
    final List<Names> names = isIngress ? null : List.of(names(), names());
    ports.add(new Ports(FIRST_UDP, FIRST_UDP + PORTS - 1, "UDP", null, names));
    return new Rule(
        random.nextBoolean() ? Map.of() : pick(SELECTORS),
        isIngress,
        false,
        true,
        null,
        Peers.UNSET,
        ports);
  }

  private Rule rule() {
    final boolean isIngress = random.nextInt(5) < 2;
    final boolean isDeny = random.nextInt(8) == 0;
    final Map<String, String> required = random.nextInt(20) == 0 ? pick(SELECTORS) : null;
    final List<Ports> ports = ports(isIngress, isDeny);
    Peers peers = peers(isIngress, isDeny);
    if (peers.isUnset() && ports.isEmpty() && (isDeny || required != null)) {
      peers = new Peers(null, List.of("all"), null, null, null); // it would say nothing
    }
    return new Rule(
        random.nextBoolean() ? Map.of() : pick(SELECTORS),
        isIngress,
        isDeny,
        random.nextInt(8) != 0,
        required,
        peers,
        ports);
  }

  private Peers peers(boolean isIngress, boolean isDeny) {
    return switch (random.nextInt(13)) {
      case 0, 1 -> new Peers(pick(SELECTORS), null, null, null, null);
      case 2, 3, 4 -> new Peers(null, entities(), null, null, null);
      case 5, 6, 7 -> new Peers(null, null, pick(CIDRS), null, null);
      case 8, 9 -> isIngress || isDeny ? Peers.UNSET : new Peers(null, null, null, names(), null);
      case 10 ->
          isIngress
              ? Peers.UNSET
              : new Peers(null, null, null, null, pick(DifferentialNetwork.SERVICES));
      default -> Peers.UNSET;
    };
  }

  private List<String> entities() {
    final List<String> entities = new ArrayList<>();
    for (int i = random.nextInt(12) == 0 ? 0 : 1 + random.nextInt(2); i > 0; i--) {
      entities.add(pick(ENTITIES));
    }
    return entities;
  }

  private Names names() {
    return random.nextBoolean() ? new Names(pick(NAMES), null) : new Names(null, pick(PATTERNS));
  }

  private List<Ports> ports(boolean isIngress, boolean isDeny) {
    final List<Ports> ports = new ArrayList<>();
    for (int i = random.nextInt(6) == 0 ? 0 : 1 + random.nextInt(2); i > 0; i--) {
      final boolean isTcp = random.nextInt(5) < 3;
      final int base = isTcp ? FIRST_TCP : FIRST_UDP;
      final int one = random.nextInt(PORTS);
      final int other = isDeny ? one : random.nextInt(PORTS);
      final boolean isAny = random.nextInt(10) == 0;
      final boolean isJudged = !isDeny && !isAny && random.nextInt(4) != 0;
      ports.add(
          new Ports(
              base + Math.min(one, other),
              base + Math.max(one, other),
              isAny ? "ANY" : isTcp ? "TCP" : "UDP",
              isJudged && isTcp ? requests() : null,
              isJudged && !isTcp && !isIngress ? List.of(names(), names()) : null));
    }
    return ports;
  }

  private List<Http> requests() {
    final List<Http> rules = new ArrayList<>();
    for (int i = random.nextInt(2); i < 2; i++) {
      rules.add(
          new Http(
              maybe(2, METHODS),
              maybe(2, PATHS),
              maybe(4, HOSTS),
              maybe(5, List.of("X-Team", "X-Team: red")),
              fields()));
    }
    return rules;
  }

  private List<Field> fields() {
    final List<Field> fields = new ArrayList<>();
    if (random.nextInt(5) == 0) {
      fields.add(new Field("X-Must", pick(List.of("1", "2")), null));
    }
    if (random.nextInt(2) == 0) {
      fields.add(new Field("X-Add", pick(List.of("blue", "green")), "ADD"));
    }
    if (random.nextInt(4) == 0) {
      fields.add(new Field("X-Role", "user", "REPLACE"));
    }
    if (random.nextInt(4) == 0) {
      fields.add(new Field("X-Token", "ok", "DELETE"));
    }
    if (random.nextInt(6) == 0) {
      fields.add(new Field("X-Log", "yes", "LOG"));
    }
    return fields;
  }

  Request request() {
    final Map<String, List<String>> fields = new TreeMap<>();
    lines(fields, "X-Team", List.of("red", "RED", "blue", "red, red"));
    lines(fields, "X-Must", List.of("1", "2", "1, 1"));
    lines(fields, "X-Add", List.of("blue", "green", "BLUE"));
    lines(fields, "X-Role", List.of("user", "admin", "User"));
    lines(fields, "X-Token", List.of("ok", "bad", "ok, ok"));
    return new Request(
        pick(List.of("GET", "PUT", "POST", "DELETE")),
        pick(List.of("/", "/a", "/a/", "/a/7", "/b/x.html", "/a?b=1", "/c")),
        pick(List.of("shop.example.com", "Pay.example.com", "example.com", "shopping"))
            + pick(List.of("", "", ":84", ":8080")),
        fields);
  }

  private void lines(Map<String, List<String>> fields, String name, List<String> values) {
    final List<String> lines = new ArrayList<>();
    while (lines.size() < 3 && random.nextInt(2) == 0) {
      lines.add(pick(values));
    }
    if (!lines.isEmpty()) {
      fields.put(name, lines);
    }
  }

  int port(boolean isTcp) {
    return (isTcp ? FIRST_TCP : FIRST_UDP) + random.nextInt(PORTS);
  }

  int below(int bound) {
    return random.nextInt(bound);
  }

  <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** Returns a value in one of so many cases, and null in the others. */
  private String maybe(int cases, List<String> values) {
    return random.nextInt(cases) == 0 ? pick(values) : null;
  }
}
