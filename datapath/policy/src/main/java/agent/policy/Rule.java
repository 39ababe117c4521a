package agent.policy;

import agent.identity.LabelSet;
import agent.maps.layout.PolicyDirection;
import agent.policy.spec.RuleSpec;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A checked rule.
 *
 * @param spec the rule as it was written
 * @param labels the labels of the rule
 * @param subject the endpoints that it is for
 * @param enforced the directions that it has a section for, an empty one included
 * @param sections its elements
 */
record Rule(
    RuleSpec spec,
    LabelSet labels,
    LabelSelector subject,
    Set<PolicyDirection> enforced,
    List<Section> sections) {

  List<Section> sections(PolicyDirection direction) {
    return sections.stream().filter(section -> section.direction() == direction).toList();
  }

  /** Returns every selector once. */
  Set<PeerSelector> selectors() {
    final Set<PeerSelector> all = new LinkedHashSet<>();
    sections.forEach(section -> all.addAll(section.selectors()));
    return all;
  }

  /** Returns the prefixes that need an identity, each once. */
  List<Prefix> prefixes() {
    final Set<Prefix> all = new LinkedHashSet<>();
    for (final PeerSelector selector : selectors()) {
      if (selector instanceof CidrSelector cidr) {
        all.addAll(cidr.prefixes());
      }
    }
    return new ArrayList<>(all);
  }
}
