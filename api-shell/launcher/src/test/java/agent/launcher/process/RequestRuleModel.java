package agent.launcher.process;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Random rules of packets and requests, and what they say of a request between two ends: every rule
 * is read for every request, without identities, entries of maps or a proxy.
 */
final class RequestRuleModel {
  static final int FIRST_PORT = 8080;
  static final int PORTS = 3;

  private static final List<Map<String, String>> SELECTORS =
      List.of(
          Map.of(),
          Map.of("app", "a"),
          Map.of("app", "b"),
          Map.of("app", "c"),
          Map.of("tier", "x"),
          Map.of("tier", "y"));
  private static final List<String> ENTITIES = List.of("world", "cluster", "all");
  private static final List<Network> NETWORKS =
      List.of(
          new Network("192.0.2.0/24", false),
          new Network("192.0.2.2/32", false),
          new Network("2001:db8:2::/64", true),
          new Network("::/0", true));
  private static final List<String> METHODS = List.of("GET", "GET|PUT", "P.*", "[A-Z]{3}", ".*");
  private static final List<String> PATHS =
      List.of("/", "/a", "/a/.*", "/a/[0-9]+", "/.*\\.html", "/a|/b/.*", ".*");
  private static final List<String> HOSTS =
      List.of("shop\\.example\\.com", "SHOP.*", ".*\\.example\\.com", "(Shop|pay)\\..*");

  private final Random random;

  RequestRuleModel(long seed) {
    random = new Random(seed);
  }

  /** One end of a connection; the labels are null for an end outside. */
  record End(Map<String, String> labels, String ipv4, String ipv6) {
    boolean isOutside() {
      return labels == null;
    }

    String address(boolean isIpv6) {
      return isIpv6 ? ipv6 : ipv4;
    }
  }

  /** A network that holds the end outside in one family. */
  private record Network(String cidr, boolean isIpv6) {}

  /** Peers of a rule: of the three parts at most one is not null; without any it is everybody. */
  private record Peers(Map<String, String> selector, String entity, Network network) {
    boolean isUnset() {
      return selector == null && entity == null && network == null;
    }

    boolean mean(End peer, boolean isIpv6) {
      if (selector != null) {
        return !peer.isOutside() && selects(selector, peer);
      }
      if (entity != null) {
        return entity.equals("all") || entity.equals("world") == peer.isOutside();
      }
      return network == null || peer.isOutside() && network.isIpv6 == isIpv6;
    }

    void write(Map<String, Object> element, String prefix) {
      if (selector != null) {
        element.put(prefix + "Endpoints", List.of(Map.of("matchLabels", selector)));
      } else if (entity != null) {
        element.put(prefix + "Entities", List.of(entity));
      } else if (network != null) {
        element.put(prefix + "CIDR", List.of(network.cidr));
      }
    }
  }

  /** A request; the fields are null where it has none. */
  record Request(String method, String path, String host, String team, String must, String color) {
    String line() {
      return method + " " + path;
    }

    List<String> fields() {
      final List<String> fields = new ArrayList<>(List.of("Host: " + host));
      addTo(fields, "X-Team: ", team);
      addTo(fields, "X-Must: ", must);
      addTo(fields, "X-Color: ", color);
      return fields;
    }

    private static void addTo(List<String> fields, String name, String value) {
      if (value != null) {
        fields.add(name + value);
      }
    }
  }

  /** A rule of requests; a part that is null is not asked for. */
  private record Http(
      String method, String path, String host, String team, String must, String color) {
    boolean means(Request request) {
      return matches(method, request.method)
          && matches(path, request.path)
          && (host == null
              || Pattern.compile(host, Pattern.CASE_INSENSITIVE).matcher(request.host).matches())
          && (team == null || request.team != null && (team.isEmpty() || team.equals(request.team)))
          && (must == null || must.equals(request.must));
    }

    private static boolean matches(String expression, String text) {
      return expression == null || Pattern.matches(expression, text);
    }

    Map<String, Object> written() {
      final Map<String, Object> rule = new HashMap<>();
      rule.put("method", method);
      rule.put("path", path);
      rule.put("host", host);
      if (team != null) {
        rule.put("headers", List.of(team.isEmpty() ? "X-Team" : "X-Team: " + team));
      }
      final List<Map<String, String>> matches = new ArrayList<>();
      if (must != null) {
        matches.add(Map.of("name", "X-Must", "value", must));
      }
      if (color != null) {
        matches.add(Map.of("name", "X-Color", "value", color, "mismatch", "ADD"));
      }
      rule.put("headerMatches", matches);
      rule.values().removeIf(part -> part == null || part.equals(List.of()));
      return rule;
    }
  }

  /** Ports from one to another; without rules of requests (null) they are open. */
  private record Ports(int first, int last, List<Http> requests) {
    Map<String, Object> written() {
      final Map<String, Object> port =
          Map.of("port", Integer.toString(first), "endPort", last, "protocol", "TCP");
      return requests == null
          ? Map.of("ports", List.of(port))
          : Map.of(
              "ports",
              List.of(port),
              "rules",
              Map.of("http", requests.stream().map(Http::written).toList()));
    }
  }

  /** A rule with one element; without ports it means all of them. */
  record Rule(
      Map<String, String> subject,
      boolean isIngress,
      boolean isDeny,
      Peers peers,
      List<Ports> ports) {
    /** Returns the rule as the API takes it. */
    Map<String, Object> written() {
      final Map<String, Object> element = new HashMap<>();
      peers.write(element, isIngress ? "from" : "to");
      if (!ports.isEmpty()) {
        element.put("toPorts", ports.stream().map(Ports::written).toList());
      }
      return Map.of(
          "labels",
          List.of(Map.of("key", "random")), // what replaces rules are others with their labels
          "endpointSelector",
          Map.of("matchLabels", subject),
          (isIngress ? "ingress" : "egress") + (isDeny ? "Deny" : ""),
          List.of(element));
    }

    /** An element that names neither peers nor ports allows nothing. */
    private boolean means(int port) {
      return ports.isEmpty()
          ? !peers.isUnset()
          : ports.stream().anyMatch(each -> holds(each, port));
    }

    private static boolean holds(Ports ports, int port) {
      return ports.first <= port && port <= ports.last;
    }
  }

  /** What rules say of a connection at one of its ends. */
  private record Side(boolean passes, List<Http> requests) {
    static final Side OPEN = new Side(true, null);
    static final Side CLOSED = new Side(false, List.of());

    boolean isJudged() {
      return requests != null;
    }

    private List<Http> matching(Request request) {
      return requests.stream().filter(rule -> rule.means(request)).toList();
    }

    boolean allows(Request request) {
      return requests == null || !matching(request).isEmpty();
    }

    Set<String> colors(Request request) {
      final Set<String> colors = new HashSet<>();
      if (requests != null) {
        matching(request).forEach(rule -> colors.add(rule.color));
      }
      colors.remove(null);
      return colors;
    }
  }

  /** What rules say of a connection. */
  record Verdict(Side client, Side server) {
    boolean connects() {
      return client.passes && server.passes;
    }

    /** Returns which ends have requests judged. */
    String judged() {
      return (client.isJudged() ? "client" : "open") + (server.isJudged() ? " server" : " open");
    }

    /** Returns the colors that the server sees in an allowed request. */
    Optional<Set<String>> request(Request request) {
      if (!client.allows(request) || !server.allows(request)) {
        return Optional.empty();
      }
      final Set<String> colors = new HashSet<>(client.colors(request));
      colors.addAll(server.colors(request));
      if (request.color != null) {
        colors.add(request.color);
      }
      return Optional.of(colors);
    }
  }

  static Verdict verdict(List<Rule> rules, End client, End server, boolean isIpv6, int port) {
    return new Verdict(
        side(rules, false, client, server, isIpv6, port),
        side(rules, true, server, client, isIpv6, port));
  }

  private static Side side(
      List<Rule> rules, boolean isIngress, End subject, End peer, boolean isIpv6, int port) {
    final List<Rule> own =
        rules.stream()
            .filter(rule -> rule.isIngress == isIngress)
            .filter(rule -> !subject.isOutside() && selects(rule.subject, subject))
            .toList();
    if (own.isEmpty()) {
      return Side.OPEN;
    }
    final List<Rule> meant =
        own.stream().filter(rule -> rule.peers.mean(peer, isIpv6) && rule.means(port)).toList();
    if (meant.isEmpty() || meant.stream().anyMatch(Rule::isDeny)) {
      return Side.CLOSED;
    }
    final List<Http> requests = new ArrayList<>();
    for (final Rule rule : meant) {
      if (rule.ports.isEmpty()) {
        return Side.OPEN;
      }
      for (final Ports ports : rule.ports) {
        if (Rule.holds(ports, port)) {
          if (ports.requests == null) {
            return Side.OPEN;
          }
          requests.addAll(ports.requests);
        }
      }
    }
    return new Side(true, requests);
  }

  private static boolean selects(Map<String, String> selector, End end) {
    return end.labels.entrySet().containsAll(selector.entrySet());
  }

  /** Returns two to seven rules. */
  List<Rule> rules() {
    final List<Rule> rules = new ArrayList<>();
    for (int i = random.nextInt(6); i >= -1; i--) {
      final boolean isDeny = random.nextInt(9) == 0;
      final Map<String, String> subject = random.nextBoolean() ? Map.of() : pick(SELECTORS);
      final Peers peers = somePeers();
      final List<Ports> ports = somePorts(isDeny);
      final boolean isRefused = isDeny && peers.isUnset() && ports.isEmpty(); // as it says nothing
      rules.add(
          new Rule(
              subject,
              random.nextBoolean(),
              isDeny,
              isRefused ? new Peers(null, "all", null) : peers,
              ports));
    }
    return rules;
  }

  private Peers somePeers() {
    return switch (random.nextInt(8)) {
      case 0, 1 -> new Peers(pick(SELECTORS), null, null);
      case 2 -> new Peers(null, pick(ENTITIES), null);
      case 3 -> new Peers(null, null, pick(NETWORKS));
      default -> new Peers(null, null, null);
    };
  }

  private List<Ports> somePorts(boolean isDeny) {
    final List<Ports> all = new ArrayList<>();
    for (int i = random.nextInt(12) == 0 ? 0 : 1 + random.nextInt(2); i > 0; i--) {
      final boolean isOpen = isDeny || random.nextInt(8) == 0;
      final int first = isDeny ? port() : Math.min(port(), port());
      final int last = isDeny ? first : Math.max(first, Math.max(port(), port()));
      all.add(new Ports(first, last, isOpen ? null : someRequests()));
    }
    return all;
  }

  private List<Http> someRequests() {
    final List<Http> rules = new ArrayList<>();
    for (int i = random.nextInt(2); i < 2; i++) {
      rules.add(
          new Http(
              maybe(2, METHODS),
              maybe(2, PATHS),
              maybe(4, HOSTS),
              maybe(5, List.of("", "red")),
              maybe(5, List.of("1", "2")),
              maybe(2, List.of("blue", "green"))));
    }
    return rules;
  }

  Request request() {
    return new Request(
        pick(List.of("GET", "PUT", "POST", "DELETE")),
        pick(List.of("/", "/a", "/a/", "/a/7", "/b/x.html", "/a?b=1", "/c")),
        pick(List.of("shop.example.com", "Pay.example.com", "example.com", "shopping")),
        maybe(2, List.of("red", "blue")),
        maybe(2, List.of("1", "2")),
        maybe(3, List.of("blue", "green")));
  }

  int port() {
    return FIRST_PORT + random.nextInt(PORTS);
  }

  boolean isIpv6() {
    return random.nextBoolean();
  }

  <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** Returns a value in one of so many cases, and null in the others. */
  private String maybe(int cases, List<String> values) {
    return random.nextInt(cases) == 0 ? pick(values) : null;
  }
}
