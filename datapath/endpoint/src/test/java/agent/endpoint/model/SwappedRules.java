package agent.endpoint.model;

import agent.identity.Label;
import agent.identity.LabelSet;
import agent.policy.model.RandomPolicy;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.CidrSetSpec;
import agent.policy.spec.PeerRuleSpec.PortRuleSpec;
import agent.policy.spec.PeerRuleSpec.PortSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Two sets of rules for a sender and a receiver. In the first one the sender's egress policy denies
 * some ports and the receiver's ingress policy allows them; in the second one it is the reverse. So
 * each set denies them, and the old policy of one with the new one of the other allows them. Other
 * ports are allowed by both sets, in another way. Between the two endpoints others change by many
 * entries, so that the change takes its time.
 */
public final class SwappedRules {
  private static final List<String> PROTOCOLS = List.of("TCP", "UDP", "SCTP");
  private static final int FILLING = 100;

  private final RandomPolicy random;
  private final int sender;
  private final int receiver;
  private final String protocol;
  private final int first;
  private final int last;
  private final List<List<RuleSpec>> states = new ArrayList<>();

  /**
   * Creates rules for endpoints with {@link #labels}.
   *
   * @param endpoints how many endpoints there are, with ids from 1
   */
  public SwappedRules(RandomPolicy random, int sender, int receiver, int endpoints) {
    this.random = random;
    this.sender = sender;
    this.receiver = receiver;
    protocol = random.pick(PROTOCOLS);
    first = 100 + random.below(4000);
    last = first + random.below(3) * random.below(300);
    for (int state = 0; state < 2; state++) {
      final List<RuleSpec> rules = new ArrayList<>();
      rules.add(rule(sender, false, receiver, state == 1));
      rules.add(rule(receiver, true, sender, state == 0));
      for (int id = 1; id <= endpoints; id++) {
        if (id != sender && id != receiver) {
          rules.add(filling(id, state));
        }
      }
      states.add(rules);
    }
  }

  /**
   * Returns rules for an endpoint that has one of two sets of labels, and its peer. As the first
   * one the endpoint denies what its peer allows it, as the second one it is the reverse.
   *
   * @param isSender whether the endpoint opens the flows
   */
  public static List<RuleSpec> byLabels(
      int first, int second, int peer, boolean isSender, int fromPort, int toPort) {
    final PeerRuleSpec other = ports(PeerRuleSpec.ALL, fromPort - 1, fromPort - 1, "UDP");
    return List.of(
        ruleOf(first, !isSender, List.of(other)),
        ruleOf(second, !isSender, List.of(other, ports(PeerRuleSpec.ALL, fromPort, toPort, "UDP"))),
        ruleOf(
            peer,
            isSender,
            List.of(other, ports(peers(List.of(only(first)), null), fromPort, toPort, "UDP"))));
  }

  private static RuleSpec ruleOf(int endpoint, boolean isIngress, List<PeerRuleSpec> allows) {
    return new RuleSpec(
        only(endpoint),
        isIngress ? allows : null,
        isIngress ? null : allows,
        null,
        null,
        null,
        null);
  }

  /** Returns the labels that an endpoint has for the rules. */
  public static LabelSet labels(int endpoint) {
    return LabelSet.of(new Label("unspec", "app", "e" + endpoint));
  }

  /** Returns the rules of one of the two states. */
  public List<RuleSpec> rules(int state) {
    return states.get(state);
  }

  public int sender() {
    return sender;
  }

  public int receiver() {
    return receiver;
  }

  /** Returns the number of the protocol. */
  public int protocol() {
    return switch (protocol) {
      case "TCP" -> ModelPacket.TCP;
      case "UDP" -> ModelPacket.UDP;
      default -> ModelPacket.SCTP;
    };
  }

  /** Returns a port that is denied in both states. */
  public int deniedPort() {
    return first + random.below(last - first + 1);
  }

  /** Returns a port that is allowed in both states, unless a further rule denies it. */
  public int allowedPort() {
    return last + 1000 + random.below(100);
  }

  private static SelectorSpec only(int endpoint) {
    return new SelectorSpec(Map.of("app", "e" + endpoint), null);
  }

  private RuleSpec rule(int endpoint, boolean isIngress, int peer, boolean isOpen) {
    final List<PeerRuleSpec> allows = new ArrayList<>();
    final List<PeerRuleSpec> denies = new ArrayList<>();
    allows.add(element(somePeer(peer), last + 1000, last + 1099 + random.below(200)));
    allows.add(cidrs());
    if (isOpen) {
      allows.add(element(somePeer(peer), first, last));
    } else if (random.below(2) == 0) {
      allows.add(element(somePeer(peer), Math.max(1, first - random.below(100)), last));
      denies.add(element(somePeer(peer), first, last));
    } else if (first > 1000) {
      allows.add(element(somePeer(peer), first - 100, first - 1));
    }
    if (random.below(3) == 0) {
      denies.add(cidrs());
    }
    return new RuleSpec(
        only(endpoint),
        isIngress ? allows : null,
        isIngress ? null : allows,
        isIngress ? denies : null,
        isIngress ? null : denies,
        null,
        null);
  }

  /** Returns an element that means the peer: by its labels, with others, or as any endpoint. */
  private PeerRuleSpec somePeer(int peer) {
    return switch (random.below(4)) {
      case 0 -> PeerRuleSpec.ALL;
      case 1 -> peers(List.of(only(peer)), null);
      case 2 -> peers(List.of(SelectorSpec.ALL), null);
      default -> peers(null, List.of(random.pick(List.of("all", "cluster"))));
    };
  }

  private static PeerRuleSpec peers(List<SelectorSpec> endpoints, List<String> entities) {
    return new PeerRuleSpec(endpoints, null, null, null, entities, null, null, null, null, null);
  }

  private PeerRuleSpec element(PeerRuleSpec peers, int from, int to) {
    return ports(peers, from, to, random.below(4) == 0 ? "ANY" : protocol);
  }

  private static PeerRuleSpec ports(PeerRuleSpec peers, int from, int to, String name) {
    final PortSpec ports = new PortSpec(Integer.toString(from), to == from ? null : to, name);
    return new PeerRuleSpec(
        peers.endpoints(),
        null,
        null,
        null,
        peers.entities(),
        List.of(new PortRuleSpec(List.of(ports), null)),
        null,
        null,
        null,
        null);
  }

  /** Returns CIDRs, whose identities come and go with the rules. */
  private PeerRuleSpec cidrs() {
    final List<String> of4 = List.of("203.0.113.0/24", "203.0.113.64/26", "198.51.100.0/24");
    final List<String> of6 = List.of("2001:db8::/32", "2001:db8:1::/48");
    final CidrSetSpec set =
        new CidrSetSpec("203.0.113.0/24", List.of(random.pick(of4.subList(1, 2))));
    final List<String> cidrs = List.of(random.pick(of4), random.pick(of6));
    return random.below(3) == 0
        ? new PeerRuleSpec(null, null, null, List.of(set), null, null, null, null, null, null)
        : new PeerRuleSpec(null, null, cidrs, null, null, null, null, null, null, null);
  }

  /** Returns a rule that allows many ports of which the other state has none. */
  private static RuleSpec filling(int endpoint, int state) {
    final List<PortSpec> ports = new ArrayList<>();
    for (int i = 0; i < FILLING; i++) {
      ports.add(new PortSpec(Integer.toString(20_000 + 4 * i + 2 * state), null, "TCP"));
    }
    final List<PeerRuleSpec> elements =
        List.of(
            new PeerRuleSpec(
                null,
                null,
                null,
                null,
                null,
                List.of(new PortRuleSpec(ports, null)),
                null,
                null,
                null,
                null));
    return new RuleSpec(only(endpoint), elements, elements, null, null, null, null);
  }
}
