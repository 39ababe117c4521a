package agent.bindings;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_link_create_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Attachment by links: a link that is pinned outlives the process, and swaps its program
 * atomically.
 */
public final class BpfLinks {
  /** enum bpf_attach_type of Linux 6.6, which older headers lack. */
  static final int BPF_TCX_INGRESS = 46;

  static final int BPF_TCX_EGRESS = 47;

  private BpfLinks() {}

  /**
   * Attaches a tc program to an interface of this network namespace, behind those that are there.
   *
   * @param ingress whether at the interface's ingress hook, else at its egress hook
   * @return the link's descriptor, or -errno (-EINVAL before Linux 6.6)
   */
  public static int createTcx(int programFd, int ifindex, boolean ingress) {
    return Libbpf.bpf_link_create(
        programFd, ifindex, ingress ? BPF_TCX_INGRESS : BPF_TCX_EGRESS, MemorySegment.NULL);
  }

  /**
   * Attaches an XDP program to an interface of this network namespace.
   *
   * @return the link's descriptor, or -errno (-EBUSY where another program is there, -EOPNOTSUPP
   *     where the driver has no native mode)
   */
  public static int createXdp(int programFd, int ifindex, XdpMode mode) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_link_create_opts.allocate(arena);
      bpf_link_create_opts.sz(options, bpf_link_create_opts.sizeof());
      bpf_link_create_opts.flags(options, mode.flags());
      return Libbpf.bpf_link_create(programFd, ifindex, Libbpf.BPF_XDP(), options);
    }
  }

  /**
   * Replaces a link's program; no packet meets neither.
   *
   * @return 0 or -errno
   */
  public static int update(int linkFd, int programFd) {
    return Libbpf.bpf_link_update(linkFd, programFd, MemorySegment.NULL);
  }

  /**
   * Detaches a link at once, whoever else holds or pins it.
   *
   * @return 0 or -errno
   */
  public static int detach(int linkFd) {
    return Libbpf.bpf_link_detach(linkFd);
  }
}
