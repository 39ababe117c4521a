package agent.policy.model;

import agent.identity.Label;
import agent.identity.LabelSet;
import agent.policy.spec.NamedPort;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.IcmpFieldSpec;
import agent.policy.spec.PeerRuleSpec.IcmpRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Generates random rules, endpoints and packets of both families; the same seed gives the same
 * sequence. The values are few and close together, so that rules overlap and packets hit the
 * boundaries of their ranges.
 */
public final class RandomPolicy {
  private static final List<String> KEYS = List.of("app", "tier", "env");
  private static final List<String> VALUES = List.of("", "a", "b", "c");
  private static final List<String> SOURCES = List.of("unspec", "k8s");
  private static final int[] PORTS = {1, 22, 79, 80, 81, 127, 128, 443, 8000, 8080, 65534, 65535};
  private static final List<String> NAMES = List.of("web", "db");
  private static final List<String> NAMED_PROTOCOLS = List.of("TCP", "TCP", "UDP", "ANY");
  private static final int[] ICMP_TYPES = {0, 3, 8, 128, 129};
  private static final List<String> CIDRS4 =
      List.of(
          "0.0.0.0/0",
          "198.51.100.0/24",
          "203.0.113.0/24",
          "203.0.113.0/25",
          "203.0.113.64/26",
          "203.0.113.65/32",
          "203.0.113.200");
  private static final List<String> CIDRS6 =
      List.of(
          "::/0", "2001:db8::/32", "2001:db8:1::/48", "2001:db8:1:2::/64", "2001:db8:1:2::1/128");
  private static final List<String> OUTSIDE =
      List.of(
          "8.8.8.8",
          "198.51.100.7",
          "203.0.113.1",
          "203.0.113.63",
          "203.0.113.64",
          "203.0.113.65",
          "203.0.113.127",
          "203.0.113.128",
          "203.0.113.200",
          "2001:db9::1",
          "2001:db8::1",
          "2001:db8:1::1",
          "2001:db8:1:2::1",
          "2001:db8:1:2::2");
  private static final List<String> ENTITIES =
      List.of(
          "all",
          "world",
          "world-ipv4",
          "world-ipv6",
          "cluster",
          "host",
          "remote-node",
          "init",
          "health",
          "none");

  private static final List<String> PORTLESS = List.of("ICMP", "ICMPv6", "VRRP");

  private final Random random;
  private final Random portless;
  private final Random names;
  private final Random defaults;

  /** Creates a generator with this seed. */
  public RandomPolicy(long seed) {
    random = new Random(seed);
    portless = new Random(seed);
    names = new Random(~seed);
    defaults = new Random(~seed);
  }

  /** Returns labels of an endpoint, sometimes an empty set. */
  public LabelSet labels() {
    final Map<String, Label> labels = new TreeMap<>();
    final int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      final Label label = new Label(pick(SOURCES), pick(KEYS), pick(VALUES));
      labels.put(label.source() + label.key(), label);
    }
    return LabelSet.of(labels.values());
  }

  /** Returns a rule that selects no endpoint and names every CIDR that the others may name. */
  public static RuleSpec namingEveryCidr() {
    final List<String> cidrs = new ArrayList<>(CIDRS4);
    cidrs.addAll(CIDRS6);
    return new RuleSpec(
        new SelectorSpec(Map.of("app", "nobody"), null),
        List.of(new PeerRuleSpec(null, null, cidrs, null, null, null, null, null, null, null)),
        null,
        null,
        null,
        List.of(new LabelSpec("rule", "every-cidr", null)),
        null);
  }

  /** Returns one to six rules. */
  public List<RuleSpec> rules() {
    final List<RuleSpec> rules = new ArrayList<>();
    final int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      rules.add(rule(i));
    }
    return rules;
  }

  private RuleSpec rule(int index) {
    final int present = 1 + random.nextInt(15);
    return new RuleSpec(
        random.nextInt(3) == 0 ? SelectorSpec.ALL : selector(),
        (present & 1) != 0 ? elements() : null,
        (present & 2) != 0 ? elements() : null,
        (present & 4) != 0 ? denied(elements()) : null,
        (present & 8) != 0 ? denied(elements()) : null,
        List.of(new LabelSpec("rule", "r" + index, null)),
        null,
        defaults.nextInt(4) == 0 ? new DefaultDenySpec(enforced(), enforced()) : null,
        EntrySource.API);
  }

  private Boolean enforced() {
    return defaults.nextInt(3) == 0 ? null : defaults.nextInt(3) == 0;
  }

  /** A deny names what it denies. */
  private static List<PeerRuleSpec> denied(List<PeerRuleSpec> elements) {
    return elements.stream()
        .map(element -> element.isEmpty() ? PeerRuleSpec.ALL : element)
        .toList();
  }

  private List<PeerRuleSpec> elements() {
    final List<PeerRuleSpec> elements = new ArrayList<>();
    final int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      elements.add(element());
    }
    return elements;
  }

  private PeerRuleSpec element() {
    List<SelectorSpec> endpoints = null;
    List<String> cidrs = null;
    List<CidrSetSpec> cidrSets = null;
    List<String> entities = null;
    switch (random.nextInt(11)) {
      case 0 -> {}
      case 1, 2, 3, 4 -> endpoints = some(this::peerSelector);
      case 5, 6 -> cidrs = some(() -> random.nextBoolean() ? pick(CIDRS4) : pick(CIDRS6));
      case 7, 8 -> cidrSets = some(this::cidrSet);
      default -> entities = some(() -> pick(ENTITIES));
    }
    final List<SelectorSpec> requires = random.nextInt(12) == 0 ? some(this::selector) : null;
    final boolean icmp = random.nextInt(6) == 0;
    final boolean ports = !icmp && random.nextInt(4) != 0;
    return new PeerRuleSpec(
        endpoints,
        requires,
        cidrs,
        cidrSets,
        entities,
        ports ? List.of(new PortRuleSpec(atLeastOne(this::port), null)) : null,
        icmp ? List.of(new IcmpRuleSpec(atLeastOne(this::icmp))) : null,
        null,
        null,
        null);
  }

  private SelectorSpec peerSelector() {
    return random.nextInt(4) == 0 ? SelectorSpec.ALL : selector();
  }

  private SelectorSpec selector() {
    final Map<String, String> labels = new TreeMap<>();
    final List<ExpressionSpec> expressions = new ArrayList<>();
    if (random.nextInt(3) != 0) {
      labels.put(name(), pick(VALUES));
    }
    if (labels.isEmpty() || random.nextInt(3) == 0) {
      final String operator = pick(List.of("In", "NotIn", "Exists", "DoesNotExist"));
      expressions.add(
          new ExpressionSpec(
              name(), operator, operator.endsWith("n") ? atLeastOne(() -> pick(VALUES)) : null));
    }
    return new SelectorSpec(labels, expressions);
  }

  private String name() {
    return random.nextInt(3) == 0 ? pick(SOURCES) + ":" + pick(KEYS) : pick(KEYS);
  }

  private CidrSetSpec cidrSet() {
    final List<String> family = random.nextBoolean() ? CIDRS4 : CIDRS6;
    final List<String> wide = family == CIDRS4 ? CIDRS4.subList(0, 4) : CIDRS6.subList(0, 3);
    final String cidr = pick(wide);
    final List<String> except = new ArrayList<>();
    for (final String hole : family) {
      if (random.nextInt(3) == 0 && isPart(cidr, hole)) {
        except.add(hole);
      }
    }
    return new CidrSetSpec(cidr, random.nextInt(4) == 0 ? null : except);
  }

  private static boolean isPart(String cidr, String hole) {
    final Prefix outer = Prefix.parse(cidr);
    final Prefix inner = Prefix.parse(hole);
    return outer.covers(inner) && !outer.equals(inner);
  }

  /** Returns named ports of an endpoint, at most one by each name and protocol. */
  public List<NamedPort> namedPorts() {
    final List<NamedPort> ports = new ArrayList<>();
    for (final String name : NAMES) {
      for (final String protocol : List.of("TCP", "UDP")) {
        if (names.nextInt(3) == 0) {
          ports.add(new NamedPort(name, PORTS[names.nextInt(PORTS.length)], protocol));
        }
      }
    }
    return ports;
  }

  private PortSpec port() {
    if (names.nextInt(4) == 0) {
      return new PortSpec(
          NAMES.get(names.nextInt(NAMES.size())),
          null,
          NAMED_PROTOCOLS.get(names.nextInt(NAMED_PROTOCOLS.size())));
    }
    if (portless.nextInt(10) == 0) {
      return new PortSpec(null, null, PORTLESS.get(portless.nextInt(PORTLESS.size())));
    }
    final String protocol =
        random.nextInt(5) == 0 ? null : pick(List.of("TCP", "TCP", "UDP", "SCTP", "ANY"));
    if (random.nextInt(8) == 0) {
      return new PortSpec("0", null, protocol);
    }
    final int first = somePort();
    if (random.nextInt(3) != 0) {
      return new PortSpec(Integer.toString(first), null, protocol);
    }
    final int last = Math.max(first, random.nextBoolean() ? somePort() : random.nextInt(65536));
    return new PortSpec(Integer.toString(first), last, protocol);
  }

  private IcmpFieldSpec icmp() {
    return new IcmpFieldSpec(
        random.nextInt(3) == 0 ? null : random.nextBoolean() ? "IPv4" : "IPv6",
        Integer.toString(ICMP_TYPES[random.nextInt(ICMP_TYPES.length)]));
  }

  /** Returns a port, most often at the boundary of a port range of the rules. */
  public int somePort() {
    return random.nextInt(4) == 0 ? 1 + random.nextInt(65535) : PORTS[random.nextInt(PORTS.length)];
  }

  /** Returns an ICMP message type, most often one that the rules name. */
  public int someIcmpType() {
    return random.nextInt(6) == 0
        ? random.nextInt(256)
        : ICMP_TYPES[random.nextInt(ICMP_TYPES.length)];
  }

  /** Returns an address outside the cluster, inside or next to the CIDRs of the rules. */
  public IpAddress someOutsideAddress() {
    return IpAddress.parse(pick(OUTSIDE));
  }

  /** Returns a random element. */
  public <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** Returns a random number from 0, below the bound. */
  public int below(int bound) {
    return random.nextInt(bound);
  }

  private <T> List<T> some(Supplier<T> source) {
    return list(random.nextInt(12) == 0 ? 0 : 1 + random.nextInt(2), source);
  }

  private <T> List<T> atLeastOne(Supplier<T> source) {
    return list(1 + random.nextInt(3), source);
  }

  private static <T> List<T> list(int count, Supplier<T> source) {
    final List<T> list = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      list.add(source.get());
    }
    return list;
  }
}
