package agent.bindings;

/**
 * A map before the kernel sees it.
 *
 * @param type a BPF_MAP_TYPE_ number, see {@link MapType}
 * @param name at most 15 characters are kept by the kernel
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity
 * @param flags BPF_F_ bits
 * @param innerMapFd a map of the shape of the inner ones for a map of maps, else 0
 */
public record MapSpec(
    int type, String name, int keySize, int valueSize, int maxEntries, int flags, int innerMapFd) {

  /** A map that holds values rather than maps. */
  public static MapSpec of(
      int type, String name, int keySize, int valueSize, int maxEntries, int flags) {
    return new MapSpec(type, name, keySize, valueSize, maxEntries, flags, 0);
  }
}
