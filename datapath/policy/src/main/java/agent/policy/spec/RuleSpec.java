package agent.policy.spec;

import agent.types.EntrySource;
import java.util.List;

/**
 * A rule as it is written (decisions.md, section 5). Null is a field that is not there.
 *
 * @param endpointSelector the endpoints that the rule is for
 * @param ingress what may reach them
 * @param egress what they may reach
 * @param ingressDeny what must not reach them
 * @param egressDeny what they must not reach
 * @param labels the labels of the rule
 * @param description free text
 * @param enableDefaultDeny in which directions the rule turns enforcement on; null for those that
 *     it has a section for
 * @param source who alone replaces and deletes the rule; null for the API, which then is it
 */
public record RuleSpec(
    SelectorSpec endpointSelector,
    List<PeerRuleSpec> ingress,
    List<PeerRuleSpec> egress,
    List<PeerRuleSpec> ingressDeny,
    List<PeerRuleSpec> egressDeny,
    List<LabelSpec> labels,
    String description,
    DefaultDenySpec enableDefaultDeny,
    EntrySource source) {
  public RuleSpec {
    source = source == null ? EntrySource.API : source;
  }

  /** Creates a rule of the API that turns enforcement on in the directions of its sections. */
  public RuleSpec(
      SelectorSpec endpointSelector,
      List<PeerRuleSpec> ingress,
      List<PeerRuleSpec> egress,
      List<PeerRuleSpec> ingressDeny,
      List<PeerRuleSpec> egressDeny,
      List<LabelSpec> labels,
      String description) {
    this(
        endpointSelector,
        ingress,
        egress,
        ingressDeny,
        egressDeny,
        labels,
        description,
        null,
        null);
  }

  /**
   * In which directions a rule turns enforcement on; null is that the rule does where it has a
   * section.
   *
   * @param ingress whether it does for ingress
   * @param egress whether it does for egress
   */
  public record DefaultDenySpec(Boolean ingress, Boolean egress) {}

  /**
   * A label of a rule.
   *
   * @param key the key
   * @param value the value; null for none
   * @param source the source; null for {@code unspec}
   */
  public record LabelSpec(String key, String value, String source) {}
}
