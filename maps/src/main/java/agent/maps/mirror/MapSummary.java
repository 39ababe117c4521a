package agent.maps.mirror;

/**
 * One open map, as the map list shows it (decisions.md, section 3).
 *
 * @param path where it is pinned, or empty
 * @param name in full
 * @param type as {@code bpftool} names it
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity; of a ring buffer its bytes
 * @param entries in it, no older than the refresh interval; unused array slots do not count
 * @param flags of its creation
 * @param pressure entries of capacity, 0 to 1
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
