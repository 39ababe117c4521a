package agent.bindings.bpf;

/**
 * The name and shape of a map, from which the kernel can create it.
 *
 * @param type a BPF_MAP_TYPE_ number, see {@link MapType}
 * @param name full name; the kernel stores at most 15 characters
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity in entries; for a ring buffer in bytes
 * @param flags BPF_F_ bits
 * @param inner shape of the inner maps of a map of maps, otherwise null
 */
public record MapSpec(
    int type, String name, int keySize, int valueSize, int maxEntries, int flags, MapSpec inner) {

  /** Creates a specification of a map without inner maps. */
  public static MapSpec of(
      int type, String name, int keySize, int valueSize, int maxEntries, int flags) {
    return new MapSpec(type, name, keySize, valueSize, maxEntries, flags, null);
  }

  /** Returns a copy of this specification with another capacity. */
  public MapSpec withMaxEntries(int entries) {
    return new MapSpec(type, name, keySize, valueSize, entries, flags, inner);
  }

  /** Returns a copy of this specification with other flags. */
  public MapSpec withFlags(int other) {
    return new MapSpec(type, name, keySize, valueSize, maxEntries, other, inner);
  }

  /** Returns a copy of this specification with another name. */
  public MapSpec withName(String other) {
    return new MapSpec(type, other, keySize, valueSize, maxEntries, flags, inner);
  }

  /** Returns whether an existing map has the same shape. */
  public boolean fits(MapDescription found) {
    return shape().equals(found.spec().shape());
  }

  /**
   * Returns the shape as text, such as {@code lpm_trie, key 12 bytes, value 4 bytes, 16384 entries,
   * flags 0x1}.
   */
  public String shape() {
    return "%s, key %d bytes, value %d bytes, %d entries, flags 0x%x"
        .formatted(MapType.name(type), keySize, valueSize, maxEntries, flags);
  }
}
