package agent.contract.datapath;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A prefilter list; in PATCH and DELETE /prefilter the prefixes to add or remove.
 *
 * @param deny CIDRs in canonical form
 * @param revision revision of the list
 */
public record PrefilterListModel(
    @JsonProperty("deny") List<String> deny, @JsonProperty("revision") Long revision) {}
