package agent.policy.model;

import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RequestRuleSpec.HeaderMatchSpec;
import agent.policy.spec.RequestRuleSpec.HttpSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Adds random rules of requests to random rules, and generates requests that they may match. */
public final class RandomRequests {
  private static final int[] PORTS = {53, 79, 80, 81, 127, 128, 443, 8080};
  private static final List<String> METHODS =
      List.of("GET", "GET|HEAD", "P.*", "(PUT|POST)", "[A-Z]{3}", ".*");
  private static final List<String> PATHS =
      List.of("/", "/a", "/a/.*", "/a/[0-9]+", "/.*\\.html", "/a|/b/.*", ".*");
  private static final List<String> HOSTS =
      List.of(
          "shop\\.example\\.com",
          "SHOP.*",
          ".*\\.example\\.com",
          "(Shop|pay)\\.example\\.com",
          "shop\\.example\\.com:84",
          ".*:(80|84)",
          "s.*4");
  private static final List<String> NAMES =
      List.of(
          "shop.example.com",
          "*.example.com",
          "s*p.example.com",
          "*.*.com",
          "*",
          "example.com",
          "**.example.com",
          "**.s*.example.com",
          "**.com");
  private static final List<String> ASKED =
      List.of(
          "shop.example.com",
          "pay.example.com",
          "sp.example.com",
          "shopping.example.com",
          "a.shop.example.com",
          "example.com",
          "com");
  private static final List<String> MISMATCHES = List.of("LOG", "ADD", "DELETE", "REPLACE");

  private final Random random;

  /** Creates a generator with this seed. */
  public RandomRequests(long seed) {
    random = new Random(seed);
  }

  /**
   * Returns rules of which most allows are restricted to requests, and many denies are left out.
   */
  public List<RuleSpec> restricted(List<RuleSpec> rules) {
    return rules.stream()
        .map(
            rule ->
                new RuleSpec(
                    random.nextBoolean() ? SelectorSpec.ALL : rule.endpointSelector(),
                    restricted(rule.ingress(), true),
                    restricted(rule.egress(), false),
                    fewer(rule.ingressDeny()),
                    fewer(rule.egressDeny()),
                    rule.labels(),
                    rule.description(),
                    rule.enableDefaultDeny(),
                    rule.source()))
        .toList();
  }

  private List<PeerRuleSpec> fewer(List<PeerRuleSpec> denies) {
    return denies == null || random.nextInt(3) == 0 ? denies : List.of();
  }

  private List<PeerRuleSpec> restricted(List<PeerRuleSpec> elements, boolean ingress) {
    return elements == null
        ? null
        : elements.stream()
            .map(element -> random.nextInt(6) == 0 ? element : restricted(element, ingress))
            .toList();
  }

  private PeerRuleSpec restricted(PeerRuleSpec element, boolean ingress) {
    final List<PortRuleSpec> ports = new ArrayList<>();
    if (element.toPorts() != null && random.nextInt(4) == 0) {
      ports.addAll(element.toPorts());
    }
    final int count = 1 + random.nextInt(3);
    for (int i = 0; i < count; i++) {
      ports.add(ports(!ingress && random.nextBoolean()));
    }
    if (random.nextInt(3) == 0) {
      return new PeerRuleSpec(null, null, null, null, null, ports, null, null, null, null);
    }
    return new PeerRuleSpec(
        element.endpoints(),
        element.requires(),
        element.cidrs(),
        element.cidrSets(),
        element.entities(),
        ports,
        null,
        null,
        element.fqdns(),
        element.services());
  }

  private PortRuleSpec ports(boolean isDns) {
    final List<String> protocols = isDns ? List.of("UDP", "TCP", "ANY") : List.of("TCP");
    final List<PortSpec> ports = new ArrayList<>();
    final int count = 1 + random.nextInt(2);
    for (int i = 0; i < count; i++) {
      final int first = somePort();
      final int last = Math.max(first, somePort());
      ports.add(
          new PortSpec(
              Integer.toString(first), random.nextInt(3) == 0 ? last : null, pick(protocols)));
    }
    return new PortRuleSpec(ports, null, isDns ? dns() : http());
  }

  private RequestRuleSpec dns() {
    final List<FqdnSpec> names = new ArrayList<>();
    for (int i = random.nextInt(2); i < 2; i++) {
      final String name = pick(NAMES);
      names.add(name.contains("*") ? new FqdnSpec(null, name) : new FqdnSpec(name, null));
    }
    return new RequestRuleSpec(null, names);
  }

  private RequestRuleSpec http() {
    final List<HttpSpec> rules = new ArrayList<>();
    for (int i = random.nextInt(2); i < 2; i++) {
      rules.add(
          new HttpSpec(
              maybe(METHODS),
              maybe(PATHS),
              random.nextInt(3) == 0 ? pick(HOSTS) : null,
              random.nextInt(5) == 0 ? List.of(pick(List.of("X-A", "x-b: 1", "X-B:  2 "))) : null,
              random.nextInt(2) == 0 ? List.of(headerMatch()) : null));
    }
    return new RequestRuleSpec(rules, null);
  }

  private HeaderMatchSpec headerMatch() {
    return new HeaderMatchSpec(
        pick(List.of("X-A", "X-B")),
        pick(List.of("1", "2")),
        random.nextInt(5) == 0 ? null : pick(MISMATCHES));
  }

  /** Returns a request. */
  public NaiveRequest request() {
    final Map<String, List<String>> headers = new TreeMap<>();
    for (final String name : List.of("x-a", "x-b")) {
      final List<String> lines = new ArrayList<>();
      while (lines.size() < 3 && random.nextBoolean()) {
        lines.add(pick(List.of("1", "2", "1, 1")));
      }
      if (!lines.isEmpty()) {
        headers.put(name, lines);
      }
    }
    return new NaiveRequest(
        pick(List.of("GET", "HEAD", "PUT", "POST", "DELETE")),
        pick(List.of("/", "/a", "/a/", "/a/7", "/b/x.html", "/a?b=1", "/c")),
        pick(List.of("shop.example.com", "pay.example.com", "example.com", "shopping", ""))
            + pick(List.of("", "", ":84", ":8084")),
        headers);
  }

  /** Returns a name that a client asks for. */
  public String name() {
    return pick(ASKED);
  }

  /** Returns a port, most often at the boundary of a range of the rules. */
  public int somePort() {
    return PORTS[random.nextInt(PORTS.length)];
  }

  private String maybe(List<String> values) {
    return random.nextInt(3) == 0 ? null : pick(values);
  }

  private <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }
}
