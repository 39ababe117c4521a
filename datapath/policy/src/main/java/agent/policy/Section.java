package agent.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * One checked element of a rule.
 *
 * @param direction seen from the endpoint
 * @param deny whether it forbids
 * @param everybody whether every peer is meant, whatever its identity
 * @param endpoints peers by labels, which {@code requires} narrows
 * @param requires what peers by labels must be selected by besides, in this and every other section
 *     of the direction that selects the endpoint
 * @param outsiders peers by CIDR or entity
 * @param ports what is meant of protocols and ports
 */
record Section(
    Direction direction,
    boolean deny,
    boolean everybody,
    List<LabelSelector> endpoints,
    List<LabelSelector> requires,
    List<PeerSelector> outsiders,
    List<PortTerm> ports) {

  /** All selectors, the required ones among them. */
  List<PeerSelector> selectors() {
    final List<PeerSelector> all = new ArrayList<>(endpoints);
    all.addAll(requires);
    all.addAll(outsiders);
    return all;
  }

  List<PortMatch> matches() {
    return ports.stream().flatMap(term -> term.matches().stream()).distinct().toList();
  }
}
