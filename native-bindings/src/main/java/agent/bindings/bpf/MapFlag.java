package agent.bindings.bpf;

/** Flags of map creation and of updates (linux/bpf.h). */
public final class MapFlag {
  /** BPF_F_NO_PREALLOC: the kernel allocates an entry when it is created. */
  public static final int NO_PREALLOC = 1;

  /** BPF_F_MMAPABLE: an array whose values can be mapped. */
  public static final int MMAPABLE = 1 << 10;

  /** BPF_ANY: an update creates or replaces the entry. */
  public static final long ANY = 0;

  /** BPF_NOEXIST: an update only creates an entry. */
  public static final long NO_EXIST = 1;

  /** BPF_EXIST: an update only replaces an entry. */
  public static final long EXIST = 2;

  private MapFlag() {}
}
