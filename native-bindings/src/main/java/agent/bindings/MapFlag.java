package agent.bindings;

/** Flags of map creation and of updates (linux/bpf.h). */
public final class MapFlag {
  /** BPF_F_NO_PREALLOC: entries are allocated when they are made. */
  public static final int NO_PREALLOC = 1;

  /** BPF_F_MMAPABLE: an array whose values can be mapped. */
  public static final int MMAPABLE = 1 << 10;

  /** BPF_F_INNER_MAP: an array whose size is not part of a map of maps' shape. */
  public static final int INNER_MAP = 1 << 12;

  /** BPF_ANY: an update makes the entry or replaces it. */
  public static final long ANY = 0;

  /** BPF_NOEXIST: an update only makes. */
  public static final long NO_EXIST = 1;

  /** BPF_EXIST: an update only replaces. */
  public static final long EXIST = 2;

  private MapFlag() {}
}
