package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Rules and the revision of the repository.
 *
 * @param policy rules as JSON text
 * @param revision revision
 * @param warnings what of the rules of a PUT no request can match; absent for nothing
 */
public record PolicyModel(
    @JsonProperty(value = "policy", required = true) String policy,
    @JsonProperty(value = "revision", required = true) Long revision,
    @JsonProperty("warnings") List<String> warnings) {}
