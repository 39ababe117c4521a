package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A selector of the rules and what it selects.
 *
 * @param identities identities it selects
 * @param labels labels of the rules that use it
 * @param selector the selector
 * @param users rules that use it
 */
public record SelectorModel(
    @JsonProperty("identities") List<Long> identities,
    @JsonProperty("labels") List<LabelModel> labels,
    @JsonProperty("selector") String selector,
    @JsonProperty("users") Long users) {}
