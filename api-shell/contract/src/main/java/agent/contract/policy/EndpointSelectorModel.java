package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;

/**
 * Selects endpoints by their labels; an empty one selects all.
 *
 * @param matchExpressions requirements, all of which hold
 * @param matchLabels labels, all of which are present
 */
public record EndpointSelectorModel(
    @JsonProperty("matchExpressions") List<Requirement> matchExpressions,
    @JsonProperty("matchLabels") Map<String, String> matchLabels) {

  /**
   * One requirement on a label.
   *
   * @param key [source:]key
   * @param operator In, NotIn, Exists or DoesNotExist
   * @param values values of In and NotIn
   */
  public record Requirement(
      @JsonProperty(value = "key", required = true) String key,
      @JsonProperty(value = "operator", required = true) String operator,
      @JsonProperty("values") List<String> values) {}
}
