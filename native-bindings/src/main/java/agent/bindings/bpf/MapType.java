package agent.bindings.bpf;

/** Numbers and names of the map types that the agent uses (enum bpf_map_type, linux/bpf.h). */
public final class MapType {
  /** BPF_MAP_TYPE_HASH. */
  public static final int HASH = 1;

  /** BPF_MAP_TYPE_ARRAY. */
  public static final int ARRAY = 2;

  /** BPF_MAP_TYPE_PERCPU_HASH. */
  public static final int PERCPU_HASH = 5;

  /** BPF_MAP_TYPE_PERCPU_ARRAY. */
  public static final int PERCPU_ARRAY = 6;

  /** BPF_MAP_TYPE_LRU_HASH. */
  public static final int LRU_HASH = 9;

  /** BPF_MAP_TYPE_LRU_PERCPU_HASH. */
  public static final int LRU_PERCPU_HASH = 10;

  /** BPF_MAP_TYPE_LPM_TRIE. */
  public static final int LPM_TRIE = 11;

  /** BPF_MAP_TYPE_ARRAY_OF_MAPS. */
  public static final int ARRAY_OF_MAPS = 12;

  /** BPF_MAP_TYPE_HASH_OF_MAPS. */
  public static final int HASH_OF_MAPS = 13;

  /** BPF_MAP_TYPE_SK_STORAGE. */
  public static final int SK_STORAGE = 24;

  private static final int PROG_ARRAY = 3;
  private static final int RINGBUF = 27;

  private MapType() {}

  /** Returns the name that bpftool prints, such as "lru_hash", or "type 99" for an unknown type. */
  public static String name(int type) {
    return switch (type) {
      case HASH -> "hash";
      case ARRAY -> "array";
      case PROG_ARRAY -> "prog_array";
      case PERCPU_HASH -> "percpu_hash";
      case PERCPU_ARRAY -> "percpu_array";
      case LRU_HASH -> "lru_hash";
      case LRU_PERCPU_HASH -> "lru_percpu_hash";
      case LPM_TRIE -> "lpm_trie";
      case ARRAY_OF_MAPS -> "array_of_maps";
      case HASH_OF_MAPS -> "hash_of_maps";
      case SK_STORAGE -> "sk_storage";
      case RINGBUF -> "ringbuf";
      default -> "type " + type;
    };
  }

  /**
   * Returns whether the map belongs to the programs that declare it, with which libbpf creates it:
   * its entries are those of sockets, or programs.
   */
  public static boolean isOfPrograms(int type) {
    return type == SK_STORAGE || type == PROG_ARRAY;
  }

  /** Returns whether a lookup copies one value for each possible CPU. */
  public static boolean isPerCpu(int type) {
    return type == PERCPU_HASH || type == PERCPU_ARRAY || type == LRU_PERCPU_HASH;
  }
}
