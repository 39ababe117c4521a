package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.LibC;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_link_info;
import agent.bindings.libbpf.bpf_prog_query_opts;
import agent.bindings.libbpf.bpf_tc_hook;
import agent.bindings.libbpf.bpf_tc_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * Reads what is attached to hooks and pinned at paths into memory of its own, without allocating.
 * Interfaces are those of the calling thread's network namespace. Not thread-safe.
 */
public final class HookProbe {
  /** BPF_MPROG_MAX: most programs of one tcx hook. */
  private static final int MOST_PROGRAMS = 64;

  /** STATX_INO; the numbers of the device are always filled in. */
  private static final int STATX_INO = 0x100;

  private static final int AT_SYMLINK_NOFOLLOW = 0x100;
  private static final long STATX_BYTES = 256;
  private static final long INODE_OFFSET = 32;
  private static final long DEVICE_MINOR_OFFSET = 140;

  private final MemorySegment link;
  private final MemorySegment length;
  private final MemorySegment programs;
  private final MemorySegment query;
  private final MemorySegment tcHook;
  private final MemorySegment tcOptions;
  private final MemorySegment file;

  /** Allocates the memory, which is freed with this object. */
  public HookProbe() {
    final Arena arena = Arena.ofAuto();
    link = bpf_link_info.allocate(arena);
    length = arena.allocate(JAVA_INT);
    programs = arena.allocate(JAVA_INT, MOST_PROGRAMS);
    query = bpf_prog_query_opts.allocate(arena);
    tcHook = bpf_tc_hook.allocate(arena);
    tcOptions = bpf_tc_opts.allocate(arena);
    file = arena.allocate(STATX_BYTES, Long.BYTES);
  }

  /** Returns the path as a string of C, for {@link #readFile}. */
  public static MemorySegment pathOf(Path path) {
    return Arena.ofAuto().allocateFrom(path.toString());
  }

  /** Reads the description of a link; returns 0 or -errno. */
  public int readLink(int fd) {
    link.fill((byte) 0);
    length.set(JAVA_INT, 0, (int) link.byteSize());
    return Libbpf.bpf_obj_get_info_by_fd(fd, link, length);
  }

  /** Returns the id of the program of the link that was read. */
  public int linkProgramId() {
    return bpf_link_info.prog_id(link);
  }

  /** Returns the interface of the tcx or XDP link that was read; 0 if the link is detached. */
  public int linkIfindex() {
    return link.get(JAVA_INT, BpfLink.IFINDEX_OFFSET);
  }

  /** Returns the control group of the cgroup link that was read; 0 if the link is detached. */
  public long linkCgroupId() {
    return link.get(JAVA_LONG, BpfLink.CGROUP_OFFSET);
  }

  /**
   * Reads the ids of the programs of a tcx hook in the order in which they run.
   *
   * @return their number, or -errno (-ENODEV if there is no such interface)
   */
  public int readTcx(int ifindex, boolean ingress) {
    query.fill((byte) 0);
    bpf_prog_query_opts.sz(query, bpf_prog_query_opts.sizeof());
    bpf_prog_query_opts.prog_ids(query, programs);
    bpf_prog_query_opts.prog_cnt(query, MOST_PROGRAMS);
    final int result =
        Libbpf.bpf_prog_query_opts(
            ifindex, ingress ? BpfLink.BPF_TCX_INGRESS : BpfLink.BPF_TCX_EGRESS, query);
    return result < 0 ? result : bpf_prog_query_opts.prog_cnt(query);
  }

  /** Returns the id of one of the programs that {@link #readTcx} read; 0 is the first to run. */
  public int tcxProgramId(int position) {
    return programs.getAtIndex(JAVA_INT, position);
  }

  /**
   * Reads the id of the program of a clsact filter.
   *
   * @return the id, or -errno (-ENOENT or -EINVAL if the filter or its qdisc does not exist,
   *     -ENODEV if there is no such interface)
   */
  public int readFilter(TcFilter filter) {
    tcHook.fill((byte) 0);
    bpf_tc_hook.sz(tcHook, bpf_tc_hook.sizeof());
    bpf_tc_hook.ifindex(tcHook, filter.ifindex());
    bpf_tc_hook.attach_point(
        tcHook, filter.ingress() ? Libbpf.BPF_TC_INGRESS() : Libbpf.BPF_TC_EGRESS());
    tcOptions.fill((byte) 0);
    bpf_tc_opts.sz(tcOptions, bpf_tc_opts.sizeof());
    bpf_tc_opts.handle(tcOptions, filter.handle());
    bpf_tc_opts.priority(tcOptions, filter.priority());
    final int result = Libbpf.bpf_tc_query(tcHook, tcOptions);
    return result < 0 ? result : bpf_tc_opts.prog_id(tcOptions);
  }

  /**
   * Reads the identity of the file at a path, without following a symbolic link.
   *
   * @param path from {@link #pathOf}
   * @return 0, or -1 where there is no file or it cannot be read
   */
  public int readFile(MemorySegment path) {
    return LibC.statx(path, AT_SYMLINK_NOFOLLOW, STATX_INO, file);
  }

  /** Returns the inode number of the file that was read. */
  public long inode() {
    return file.get(JAVA_LONG, INODE_OFFSET);
  }

  /** Returns the minor number of the file system of the file that was read. */
  public int deviceMinor() {
    return file.get(JAVA_INT, DEVICE_MINOR_OFFSET);
  }
}
