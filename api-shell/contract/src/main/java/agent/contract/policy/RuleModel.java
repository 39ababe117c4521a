package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A policy rule.
 *
 * @param description free text
 * @param egress what the endpoints may reach
 * @param egressDeny what the endpoints must not reach
 * @param enableDefaultDeny in which directions the rule turns enforcement on; absent: those that it
 *     has a list for
 * @param endpointSelector endpoints the rule applies to; required
 * @param ingress what may reach the endpoints
 * @param ingressDeny what must not reach the endpoints
 * @param labels labels of the rule
 * @param source who alone replaces and deletes the rule; absent for the API
 */
public record RuleModel(
    @JsonProperty("description") String description,
    @JsonProperty("egress") List<EgressModel> egress,
    @JsonProperty("egressDeny") List<EgressModel> egressDeny,
    @JsonProperty("enableDefaultDeny") DefaultDeny enableDefaultDeny,
    @JsonProperty("endpointSelector") EndpointSelectorModel endpointSelector,
    @JsonProperty("ingress") List<IngressModel> ingress,
    @JsonProperty("ingressDeny") List<IngressModel> ingressDeny,
    @JsonProperty("labels") List<LabelModel> labels,
    @JsonProperty("source") String source) {
  /**
   * In which directions a rule turns enforcement on.
   *
   * @param egress whether it does for egress
   * @param ingress whether it does for ingress
   */
  public record DefaultDeny(
      @JsonProperty("egress") Boolean egress, @JsonProperty("ingress") Boolean ingress) {}
}
