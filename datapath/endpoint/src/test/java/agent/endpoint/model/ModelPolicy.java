package agent.endpoint.model;

import agent.identity.LabelSet;
import agent.maps.layout.DropReason;
import agent.policy.model.NaivePeer;
import agent.policy.model.NaivePolicy;
import agent.policy.spec.RuleSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the present rules and labels say of a packet between two hosts. */
public final class ModelPolicy {
  private final Map<Integer, LabelSet> labels = new HashMap<>();
  private NaivePolicy rules = new NaivePolicy(List.of());

  /** Replaces the rules. */
  public void rules(List<RuleSpec> present) {
    rules = new NaivePolicy(present);
  }

  /** Sets the labels of an endpoint. */
  public void labels(int endpoint, LabelSet present) {
    labels.put(endpoint, present);
  }

  /** Returns the labels of the endpoints. */
  public Map<Integer, LabelSet> labels() {
    return labels;
  }

  /** Returns the ruling on a packet that opens a flow. */
  public Ruling onOpening(ModelPacket packet) {
    return onOpening(
        packet.source(),
        packet.destination(),
        packet.protocol(),
        packet.isIcmp() ? packet.icmpType() : packet.destinationPort());
  }

  /**
   * Returns the ruling on a packet that opens a flow: egress policy of its sender, then ingress
   * policy of its receiver.
   *
   * @param port the destination port, or the ICMP message type
   */
  Ruling onOpening(ModelHost sender, ModelHost receiver, int protocol, int port) {
    final Ruling egress = onLeaving(sender, receiver, protocol, port);
    return egress.passes() ? onArrival(sender, receiver, protocol, port) : egress;
  }

  /** Returns the ruling of the sender's egress policy alone. */
  private Ruling onLeaving(ModelHost sender, ModelHost receiver, int protocol, int port) {
    return sender.isEndpoint() ? ruling(sender, false, receiver, protocol, port) : Ruling.PASS;
  }

  /** Returns the ruling of the receiver's ingress policy alone. */
  Ruling onArrival(ModelHost sender, ModelHost receiver, int protocol, int port) {
    return receiver.isEndpoint() ? ruling(receiver, true, sender, protocol, port) : Ruling.PASS;
  }

  private Ruling ruling(ModelHost judge, boolean ingress, ModelHost other, int protocol, int port) {
    return switch (rules.verdict(
        labels.get(judge.endpoint()), ingress, peer(other), protocol, port)) {
      case ALLOWED -> Ruling.PASS;
      case NOT_ALLOWED -> Ruling.dropped(DropReason.POLICY_DENIED, judge);
      case DENIED -> Ruling.dropped(DropReason.POLICY_DENY_RULE, judge);
    };
  }

  private NaivePeer peer(ModelHost host) {
    return switch (host.kind()) {
      case ENDPOINT -> NaivePeer.endpoint(labels.get(host.endpoint()));
      case HOST -> NaivePeer.host();
      case REMOTE_NODE -> NaivePeer.remoteNode();
      case OUTSIDE -> NaivePeer.outside(host.address());
    };
  }
}
