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
import agent.policy.spec.RequestRuleSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.IpAddress;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A slow reference implementation of the rule language of decisions.md: it evaluates all rules for
 * each packet, without identities, maps or prefixes, and shares no code with the resolver.
 */
public final class NaivePolicy {
  /** Stands for an allow without rules of requests. */
  static final RequestRuleSpec ALL_REQUESTS = new RequestRuleSpec(null, null);

  private final List<RuleSpec> rules;
  private final List<NamedPort> own;
  private final List<NaiveEndpoint> endpoints;

  /** Creates the policy of these rules in mode {@code default}; no endpoint has named ports. */
  public NaivePolicy(List<RuleSpec> rules) {
    this(rules, List.of(), List.of());
  }

  /**
   * Creates the policy of these rules in mode {@code default}.
   *
   * @param own the named ports of the endpoint whose policy is evaluated
   * @param endpoints all endpoints
   */
  public NaivePolicy(List<RuleSpec> rules, List<NamedPort> own, List<NaiveEndpoint> endpoints) {
    this.rules = rules;
    this.own = own;
    this.endpoints = endpoints;
  }

  /** Returns the ports that names mean: those of the end that a packet is sent to. */
  private List<NamedPort> named(boolean ingress, NaivePeer peer) {
    if (ingress) {
      return own;
    }
    return peer.kind() != NaivePeer.Kind.ENDPOINT
        ? List.of()
        : endpoints.stream()
            .filter(endpoint -> endpoint.labels().equals(peer.labels()))
            .flatMap(endpoint -> endpoint.ports().stream())
            .toList();
  }

  /**
   * Returns the verdict on a packet.
   *
   * @param subject the labels of the endpoint whose policy is evaluated
   * @param ingress whether the packet is sent to the endpoint
   * @param peer the other end
   * @param protocol the IP protocol number
   * @param port the destination port, or the ICMP message type
   * @return the verdict
   */
  public Verdict verdict(
      LabelSet subject, boolean ingress, NaivePeer peer, int protocol, int port) {
    final List<PeerRuleSpec> allows = new ArrayList<>();
    final List<PeerRuleSpec> denies = new ArrayList<>();
    final boolean enforced = collect(subject, ingress, allows, denies);
    final List<NamedPort> named = named(ingress, peer);
    if (!meaning(denies, peer, named, protocol, port).isEmpty()) {
      return Verdict.DENIED;
    }
    return enforced && meaning(allows, peer, named, protocol, port).isEmpty()
        ? Verdict.NOT_ALLOWED
        : Verdict.ALLOWED;
  }

  /**
   * Returns the rules of requests of all allows of a packet: one for each list of ports that means
   * it, {@link #ALL_REQUESTS} for one without such rules or where policy is not enforced.
   */
  List<RequestRuleSpec> requestRules(
      LabelSet subject, boolean ingress, NaivePeer peer, int protocol, int port) {
    final List<PeerRuleSpec> allows = new ArrayList<>();
    if (!collect(subject, ingress, allows, new ArrayList<>())) {
      return List.of(ALL_REQUESTS);
    }
    final List<RequestRuleSpec> found = new ArrayList<>();
    final List<NamedPort> named = named(ingress, peer);
    for (final PeerRuleSpec element : meaning(allows, peer, named, protocol, port)) {
      if (element.toPorts() == null) {
        found.add(ALL_REQUESTS);
      } else {
        for (final PortRuleSpec rule : element.toPorts()) {
          if (meansPort(rule, named, protocol, port)) {
            found.add(rule.rules() == null ? ALL_REQUESTS : rule.rules());
          }
        }
      }
    }
    return found;
  }

  /** Collects the elements for an endpoint; returns whether policy is enforced. */
  private boolean collect(
      LabelSet subject, boolean ingress, List<PeerRuleSpec> allows, List<PeerRuleSpec> denies) {
    boolean enforced = false;
    for (final RuleSpec rule : rules) {
      if (!matches(rule.endpointSelector(), labelsOf(subject))) {
        continue;
      }
      final List<PeerRuleSpec> allow = ingress ? rule.ingress() : rule.egress();
      final List<PeerRuleSpec> deny = ingress ? rule.ingressDeny() : rule.egressDeny();
      enforced |= enforces(rule, ingress);
      allows.addAll(allow == null ? List.of() : allow);
      denies.addAll(deny == null ? List.of() : deny);
    }
    return enforced;
  }

  private static boolean enforces(RuleSpec rule, boolean ingress) {
    final Boolean chosen =
        rule.enableDefaultDeny() == null
            ? null
            : ingress ? rule.enableDefaultDeny().ingress() : rule.enableDefaultDeny().egress();
    if (chosen != null) {
      return chosen;
    }
    return ingress
        ? rule.ingress() != null || rule.ingressDeny() != null
        : rule.egress() != null || rule.egressDeny() != null;
  }

  /**
   * Returns whether the endpoint's policy allows everything in a direction, as far as no deny rule
   * matches: it is not enforced, or a rule means all peers and all ports.
   */
  public boolean allowsEverything(LabelSet subject, boolean ingress) {
    final List<PeerRuleSpec> allows = new ArrayList<>();
    if (!collect(subject, ingress, allows, new ArrayList<>())) {
      return true;
    }
    return required(allows).isEmpty() && allows.stream().anyMatch(NaivePolicy::meansEverything);
  }

  private static boolean meansEverything(PeerRuleSpec element) {
    return element.entities() != null
        && element.entities().contains("all")
        && element.toPorts() == null
        && element.icmps() == null;
  }

  private static List<SelectorSpec> required(List<PeerRuleSpec> elements) {
    final List<SelectorSpec> required = new ArrayList<>();
    for (final PeerRuleSpec element : elements) {
      required.addAll(element.requires() == null ? List.of() : element.requires());
    }
    return required;
  }

  private static List<PeerRuleSpec> meaning(
      List<PeerRuleSpec> elements, NaivePeer peer, List<NamedPort> named, int protocol, int port) {
    final List<SelectorSpec> required = required(elements);
    return elements.stream()
        .filter(element -> required.stream().allMatch(more -> meansEndpoint(more, peer)))
        .filter(element -> meansPeer(element, peer))
        .filter(element -> meansPort(element, named, protocol, port))
        .toList();
  }

  private static boolean meansPeer(PeerRuleSpec element, NaivePeer peer) {
    if (element.endpoints() == null
        && element.cidrs() == null
        && element.cidrSets() == null
        && element.entities() == null) {
      return element.toPorts() != null || element.icmps() != null;
    }
    if (element.endpoints() != null) {
      for (final SelectorSpec selector : element.endpoints()) {
        if (meansEndpoint(selector, peer)) {
          return true;
        }
      }
    }
    if (element.entities() != null) {
      for (final String entity : element.entities()) {
        if (meansEntity(entity, peer)) {
          return true;
        }
      }
    }
    return peer.kind() == NaivePeer.Kind.OUTSIDE && meansAddress(element, peer.address());
  }

  private static boolean meansEndpoint(SelectorSpec selector, NaivePeer peer) {
    return peer.kind() == NaivePeer.Kind.ENDPOINT && matches(selector, labelsOf(peer.labels()));
  }

  private static boolean meansEntity(String entity, NaivePeer peer) {
    return switch (entity) {
      case "all" -> true;
      case "world" -> peer.kind() == NaivePeer.Kind.OUTSIDE;
      case "world-ipv4" ->
          peer.kind() == NaivePeer.Kind.OUTSIDE && peer.address().toBytes().length == 4;
      case "world-ipv6" ->
          peer.kind() == NaivePeer.Kind.OUTSIDE && peer.address().toBytes().length == 16;
      case "cluster" -> peer.kind() != NaivePeer.Kind.OUTSIDE;
      case "host" -> peer.kind() == NaivePeer.Kind.HOST;
      case "remote-node" -> peer.kind() == NaivePeer.Kind.REMOTE_NODE;
      case "init" -> peer.kind() == NaivePeer.Kind.ENDPOINT && peer.labels().isEmpty();
      default -> false;
    };
  }

  private static boolean meansAddress(PeerRuleSpec element, IpAddress address) {
    if (element.cidrs() != null) {
      for (final String cidr : element.cidrs()) {
        if (holds(cidr, address)) {
          return true;
        }
      }
    }
    if (element.cidrSets() != null) {
      for (final CidrSetSpec set : element.cidrSets()) {
        final List<String> holes = set.except() == null ? List.of() : set.except();
        if (holds(set.cidr(), address) && holes.stream().noneMatch(hole -> holds(hole, address))) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean holds(String cidr, IpAddress address) {
    final String[] parts = cidr.split("/");
    final byte[] base = IpAddress.parse(parts[0]).toBytes();
    final byte[] bytes = address.toBytes();
    if (base.length != bytes.length) {
      return false;
    }
    final int hostBits =
        base.length * 8 - (parts.length == 1 ? base.length * 8 : Integer.parseInt(parts[1]));
    return new BigInteger(1, base)
        .shiftRight(hostBits)
        .equals(new BigInteger(1, bytes).shiftRight(hostBits));
  }

  private static LabelSet labelsOf(LabelSet labels) {
    return labels.isEmpty() ? LabelSet.of(new Label("reserved", "init", "")) : labels;
  }

  private static boolean matches(SelectorSpec selector, LabelSet labels) {
    if (selector.matchLabels() != null) {
      for (final Map.Entry<String, String> wanted : selector.matchLabels().entrySet()) {
        if (!valuesOf(wanted.getKey(), labels).contains(wanted.getValue())) {
          return false;
        }
      }
    }
    if (selector.matchExpressions() != null) {
      for (final ExpressionSpec expression : selector.matchExpressions()) {
        final List<String> values = valuesOf(expression.key(), labels);
        final boolean met =
            switch (expression.operator()) {
              case "In" -> values.stream().anyMatch(expression.values()::contains);
              case "NotIn" -> values.stream().noneMatch(expression.values()::contains);
              case "Exists" -> !values.isEmpty();
              case "DoesNotExist" -> values.isEmpty();
              default -> throw new IllegalStateException(expression.operator());
            };
        if (!met) {
          return false;
        }
      }
    }
    return true;
  }

  private static List<String> valuesOf(String name, LabelSet labels) {
    final String[] parts = name.split(":", 2);
    final List<String> values = new ArrayList<>();
    for (final Label label : labels) {
      final boolean same =
          parts.length == 1
              ? label.key().equals(name)
              : label.source().equals(parts[0]) && label.key().equals(parts[1]);
      if (same) {
        values.add(label.value());
      }
    }
    return values;
  }

  private static boolean meansPort(
      PeerRuleSpec element, List<NamedPort> named, int protocol, int port) {
    if (element.toPorts() == null && element.icmps() == null) {
      return true;
    }
    if (element.toPorts() != null) {
      return element.toPorts().stream().anyMatch(rule -> meansPort(rule, named, protocol, port));
    }
    for (final IcmpRuleSpec rule : element.icmps()) {
      for (final IcmpFieldSpec field : rule.fields()) {
        if (protocol == ("IPv6".equals(field.family()) ? 58 : 1)
            && port == Integer.parseInt(field.type())) {
          return true;
        }
      }
    }
    return false;
  }

  /** Names are asked for by UDP and TCP alone. */
  private static boolean meansPort(
      PortRuleSpec rule, List<NamedPort> named, int protocol, int port) {
    if (rule.rules() != null && protocol != 6 && protocol != 17) {
      return false;
    }
    for (final PortSpec spec : rule.ports()) {
      final boolean isName = spec.port() != null && Character.isLetter(spec.port().charAt(0));
      if (meansProtocol(spec.protocol(), protocol)
          && (isName ? meansName(spec.port(), named, protocol, port) : meansNumber(spec, port))) {
        return true;
      }
    }
    return false;
  }

  private static boolean meansProtocol(String name, int protocol) {
    return switch (name == null ? "ANY" : name) {
      case "TCP" -> protocol == 6;
      case "UDP" -> protocol == 17;
      case "SCTP" -> protocol == 132;
      case "ICMP" -> protocol == 1;
      case "ICMPv6" -> protocol == 58;
      case "VRRP" -> protocol == 112;
      default -> protocol == 6 || protocol == 17 || protocol == 132;
    };
  }

  private static boolean meansName(String name, List<NamedPort> named, int protocol, int port) {
    return named.stream()
        .anyMatch(
            one ->
                one.name().equals(name)
                    && one.port() == port
                    && meansProtocol(one.protocol(), protocol));
  }

  private static boolean meansNumber(PortSpec spec, int port) {
    if (spec.port() == null) {
      return true;
    }
    final int first = Integer.parseInt(spec.port());
    return first == 0 || port >= first && port <= (spec.endPort() == null ? first : spec.endPort());
  }
}
