package agent.maps.mirror;

/**
 * One open map as the map list of the API contains it (decisions.md, section 3).
 *
 * @param path path of its pin, or empty
 * @param name full name
 * @param type name that {@code bpftool} prints
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity in entries; for a ring buffer in bytes
 * @param entries number of entries, at most five seconds old; without unused array slots
 * @param flags BPF_F_ bits of its creation
 * @param pressure ratio of entries to capacity, 0 to 1
 */
public record MapSummary(
    String path,
    String name,
    String type,
    int keySize,
    int valueSize,
    int maxEntries,
    long entries,
    int flags,
    double pressure) {}
