package agent.policy.rule;

import agent.maps.layout.PolicyDirection;
import java.util.ArrayList;
import java.util.List;

/**
 * One checked element of a rule.
 *
 * @param direction seen from the endpoint
 * @param deny whether it forbids
 * @param everybody whether it selects every peer, whatever its identity
 * @param endpoints peers by labels
 * @param requires selectors that peers must match besides, in this and every other section of the
 *     direction that selects the endpoint
 * @param outsiders peers by CIDR, name or entity
 * @param ports the protocols and ports
 */
public record Section(
    PolicyDirection direction,
    boolean deny,
    boolean everybody,
    List<LabelSelector> endpoints,
    List<LabelSelector> requires,
    List<PeerSelector> outsiders,
    List<PortTerm> ports) {

  /** {@code from} or {@code to}: how the names of peer fields begin. */
  public static String preposition(PolicyDirection direction) {
    return direction == PolicyDirection.INGRESS ? "from" : "to";
  }

  /** Returns all selectors, the required ones among them. */
  List<PeerSelector> selectors() {
    final List<PeerSelector> all = new ArrayList<>(endpoints);
    all.addAll(requires);
    all.addAll(outsiders);
    return all;
  }

  /** Returns the terms with rules of requests. */
  public List<PortTerm> requestTerms() {
    return ports.stream().filter(term -> term.rules() != null).toList();
  }
}
