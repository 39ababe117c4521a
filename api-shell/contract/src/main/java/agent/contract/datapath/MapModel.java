package agent.contract.datapath;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * One open BPF map.
 *
 * @param entries entries
 * @param flags flags as the kernel gives them
 * @param keySize bytes of a key
 * @param maxEntries most entries
 * @param name name
 * @param path pin path
 * @param pressure entries by most entries, 0 to 1
 * @param type map type
 * @param valueSize bytes of a value
 */
public record MapModel(
    @JsonProperty("entries") Long entries,
    @JsonProperty("flags") Long flags,
    @JsonProperty("key-size") Integer keySize,
    @JsonProperty("max-entries") Long maxEntries,
    @JsonProperty("name") String name,
    @JsonProperty("path") String path,
    @JsonProperty("pressure") Double pressure,
    @JsonProperty("type") String type,
    @JsonProperty("value-size") Integer valueSize) {}
