package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_link_create_opts;
import agent.bindings.libbpf.bpf_link_info;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A handle of a link, the attachment of a program to a hook. A link can be pinned and its program
 * replaced atomically. The caller that creates or opens a link closes it. The program stays
 * attached while the link is pinned or a descriptor of it is open; {@link #detach()} detaches it
 * immediately.
 */
public final class BpfLink extends BpfHandle {
  /** enum bpf_attach_type of Linux 6.6, which older headers lack. */
  static final int BPF_TCX_INGRESS = 46;

  static final int BPF_TCX_EGRESS = 47;

  /** BPF_TRACE_ITER of enum bpf_attach_type. */
  private static final int BPF_TRACE_ITER = 28;

  /** BPF_F_BEFORE of Linux 6.6; without a relative program it means before all programs. */
  private static final int BPF_F_BEFORE = 1 << 3;

  private static final String KIND = "link";
  private static final List<String> TYPES = List.of("bpf_link", "bpf-link");

  /** Offsets in the union of bpf_link_info, equal for xdp and tcx (Linux 6.6, linux/bpf.h). */
  static final long IFINDEX_OFFSET = 16;

  private static final long ATTACH_TYPE_OFFSET = IFINDEX_OFFSET + Integer.BYTES;

  /** The id of the control group, for a link of that type. */
  static final long CGROUP_OFFSET = IFINDEX_OFFSET;

  private static final long CGROUP_ATTACH_TYPE_OFFSET = CGROUP_OFFSET + Long.BYTES;

  private BpfLink(String subject, int fd, Path pinOrNull) {
    super(subject, fd, pinOrNull);
  }

  /**
   * Attaches a tc program to an interface of this network namespace, after the programs already
   * attached.
   *
   * @param ingress true for the interface's ingress hook, false for its egress hook
   * @throws BindingsException if the kernel refuses (EINVAL before Linux 6.6)
   */
  public static BpfLink createTcx(BpfProgram program, int ifindex, boolean ingress) {
    return createTcx(program, ifindex, ingress, 0);
  }

  /**
   * Attaches a tc program to an interface of this network namespace, before the programs already
   * attached.
   *
   * @param ingress true for the interface's ingress hook, false for its egress hook
   * @throws BindingsException EEXIST if the same program is attached to the hook, or another error
   *     of the kernel (EINVAL before Linux 6.6)
   */
  public static BpfLink createTcxFirst(BpfProgram program, int ifindex, boolean ingress) {
    return createTcx(program, ifindex, ingress, BPF_F_BEFORE);
  }

  private static BpfLink createTcx(BpfProgram program, int ifindex, boolean ingress, int flags) {
    return create(
        "tcx " + (ingress ? "ingress" : "egress") + " link on ifindex " + ifindex,
        program,
        ifindex,
        ingress ? BPF_TCX_INGRESS : BPF_TCX_EGRESS,
        flags);
  }

  /**
   * Attaches an XDP program to an interface of this network namespace.
   *
   * @throws BindingsException EBUSY if another program is attached, EOPNOTSUPP if the driver has no
   *     native mode, or another error of the kernel
   */
  public static BpfLink createXdp(BpfProgram program, int ifindex, XdpMode mode) {
    return create(
        "XDP link on ifindex " + ifindex, program, ifindex, Libbpf.BPF_XDP(), mode.flags());
  }

  /**
   * Attaches a program to a hook of a control group: it runs for the sockets of that group and of
   * those below it, after the programs already attached.
   *
   * @param cgroup directory of the control group
   * @throws BindingsException if the kernel refuses
   */
  public static BpfLink createCgroup(BpfProgram program, Path cgroup, SocketHook hook) {
    final int target = CgroupFileSystem.open(cgroup);
    try {
      return create(
          "link on " + hook + " of control group " + cgroup, program, target, hook.attachType(), 0);
    } finally {
      Descriptors.close(target);
    }
  }

  /** Attaches an iterator, of which {@link BpfIterator} makes walks. */
  static BpfLink createIterator(BpfProgram program) {
    return create("iterator", program, 0, BPF_TRACE_ITER, 0);
  }

  /**
   * Creates a link of any kind; the target is an ifindex, or a descriptor such as that of a cgroup.
   */
  private static BpfLink create(
      String subject, BpfProgram program, int target, int attachType, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_link_create_opts.allocate(arena);
      bpf_link_create_opts.sz(options, bpf_link_create_opts.sizeof());
      bpf_link_create_opts.flags(options, flags);
      final int fd = Libbpf.bpf_link_create(program.fd(), target, attachType, options);
      BindingsException.check(fd, subject + ": create for " + program);
      return new BpfLink(subject, fd, null);
    }
  }

  /**
   * Opens a pinned link.
   *
   * @return empty if the path does not exist
   * @throws BindingsException if another kind of object is pinned there, or if it cannot be opened
   */
  public static Optional<BpfLink> openPinned(Path path) {
    final int fd = openPinned(path, KIND, TYPES);
    return fd < 0 ? Optional.empty() : Optional.of(new BpfLink(KIND + " " + path, fd, path));
  }

  /**
   * Opens an existing link.
   *
   * @param id the kernel's id of the link, see {@link LinkDescription#id()}
   * @throws BindingsException ENOENT if no link has the id
   */
  public static BpfLink openById(int id) {
    final int fd = Libbpf.bpf_link_get_fd_by_id(id);
    BindingsException.check(fd, KIND + " of id " + id + ": open");
    return new BpfLink(KIND + " of id " + id, fd, null);
  }

  /**
   * Replaces the program atomically: each packet is processed by either the old or the new program.
   *
   * @throws BindingsException ENOLINK if the link is detached, or another error of the kernel; the
   *     previous program stays attached
   */
  public void update(BpfProgram program) {
    check(Libbpf.bpf_link_update(fd(), program.fd(), MemorySegment.NULL), "update with " + program);
  }

  /**
   * Detaches the program immediately, even if the link is pinned or open elsewhere. The link cannot
   * be used afterwards; its pin remains until {@link #unpin()}. A second call has no effect.
   *
   * @throws BindingsException if the kernel refuses
   */
  public void detach() {
    check(Libbpf.bpf_link_detach(fd()), "detach");
  }

  /**
   * Returns the kernel's description of the link.
   *
   * @throws BindingsException if the kernel refuses
   */
  public LinkDescription info() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_link_info.allocate(arena);
      describe(arena, fd(), found, toString());
      final int type = bpf_link_info.type(found);
      final boolean tcx = type == LinkDescription.TYPE_TCX;
      final boolean cgroup = type == LinkDescription.TYPE_CGROUP;
      return new LinkDescription(
          bpf_link_info.id(found),
          type,
          bpf_link_info.prog_id(found),
          tcx || type == LinkDescription.TYPE_XDP ? found.get(JAVA_INT, IFINDEX_OFFSET) : 0,
          tcx
              ? found.get(JAVA_INT, ATTACH_TYPE_OFFSET)
              : cgroup ? found.get(JAVA_INT, CGROUP_ATTACH_TYPE_OFFSET) : 0,
          cgroup ? found.get(JAVA_LONG, CGROUP_OFFSET) : 0);
    }
  }

  /**
   * The kernel's description of a link.
   *
   * @param id the kernel's id of the link
   * @param type a BPF_LINK_TYPE_ number: {@link #TYPE_XDP}, {@link #TYPE_TCX} or another
   * @param programId id of the attached program
   * @param ifindex interface of a tcx or XDP link; 0 if the interface was deleted, and for other
   *     types
   * @param attachType a number of enum bpf_attach_type for a tcx or cgroup link; 0 for other types
   * @param cgroupId inode number of the control group of a cgroup link; 0 if the link is detached,
   *     and for other types
   */
  public record LinkDescription(
      int id, int type, int programId, int ifindex, int attachType, long cgroupId) {
    /** BPF_LINK_TYPE_CGROUP. */
    public static final int TYPE_CGROUP = 3;

    /** BPF_LINK_TYPE_XDP. */
    public static final int TYPE_XDP = 6;

    /** BPF_LINK_TYPE_TCX. */
    public static final int TYPE_TCX = 11;

    /** Returns whether this is a tcx link at an ingress hook. */
    public boolean isTcxIngress() {
      return type == TYPE_TCX && attachType == BpfLink.BPF_TCX_INGRESS;
    }
  }
}
