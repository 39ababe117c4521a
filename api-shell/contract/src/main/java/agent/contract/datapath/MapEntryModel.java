package agent.contract.datapath;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An entry of a BPF map in readable form.
 *
 * @param desiredAction ok, insert or delete
 * @param key key
 * @param lastError last error of a write
 * @param value value
 */
public record MapEntryModel(
    @JsonProperty("desired-action") String desiredAction,
    @JsonProperty("key") String key,
    @JsonProperty("last-error") String lastError,
    @JsonProperty("value") String value) {}
