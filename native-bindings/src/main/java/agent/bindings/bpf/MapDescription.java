package agent.bindings.bpf;

import agent.bindings.BindingsException;
import agent.bindings.libbpf.bpf_map_info;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The kernel's description of a map.
 *
 * @param id the kernel's id of the map
 * @param type a number of {@link MapType}
 * @param name at most 15 characters
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity in entries; for a ring buffer in bytes
 * @param flags BPF_F_ bits
 */
public record MapDescription(
    int id, int type, String name, int keySize, int valueSize, int maxEntries, int flags) {

  /**
   * Reads the description of a map from the kernel.
   *
   * @param fd the map's descriptor
   * @throws BindingsException if the descriptor does not refer to a BPF object
   */
  public static MapDescription of(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_map_info.allocate(arena);
      BpfHandle.describe(arena, fd, found, "map of descriptor " + fd);
      return new MapDescription(
          bpf_map_info.id(found),
          bpf_map_info.type(found),
          bpf_map_info.name(found).getString(0),
          bpf_map_info.key_size(found),
          bpf_map_info.value_size(found),
          bpf_map_info.max_entries(found),
          bpf_map_info.map_flags(found));
    }
  }

  /** Returns a copy of this description with another capacity. */
  public MapDescription withMaxEntries(int entries) {
    return new MapDescription(id, type, name, keySize, valueSize, entries, flags);
  }

  /** Returns name and shape, without the inner shape of a map of maps. */
  public MapSpec spec() {
    return MapSpec.of(type, name, keySize, valueSize, maxEntries, flags);
  }
}
