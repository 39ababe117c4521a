package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Label sets of an endpoint; the spec alone is the user part.
 *
 * @param spec labels asked for
 * @param status label sets in force
 */
public record EndpointLabelsModel(
    @JsonProperty("spec") LabelConfigurationModel spec, @JsonProperty("status") Status status) {

  /**
   * Label sets in force.
   *
   * @param derived labels of the orchestrator
   * @param disabled labels switched off
   * @param realized user labels in force
   * @param securityRelevant labels that make the identity
   */
  public record Status(
      @JsonProperty("derived") List<String> derived,
      @JsonProperty("disabled") List<String> disabled,
      @JsonProperty("realized") LabelConfigurationModel realized,
      @JsonProperty("security-relevant") List<String> securityRelevant) {}
}
