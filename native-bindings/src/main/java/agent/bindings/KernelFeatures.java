package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_prog_query_opts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What this kernel can do, by asking it.
 *
 * @param release as uname -r says
 * @param tcx programs attach by tcx links (Linux 6.6)
 * @param redirectPeer bpf_redirect_peer (Linux 5.10)
 * @param redirectNeighbour bpf_redirect_neigh (Linux 5.10)
 * @param coarseClock bpf_ktime_get_coarse_ns (Linux 5.11)
 * @param mapSweep bpf_for_each_map_elem in syscall programs (Linux 5.14)
 * @param btf the kernel has BTF of itself (CONFIG_DEBUG_INFO_BTF)
 */
public record KernelFeatures(
    String release,
    boolean tcx,
    boolean redirectPeer,
    boolean redirectNeighbour,
    boolean coarseClock,
    boolean mapSweep,
    boolean btf) {
  private static final Path RELEASE = Path.of("/proc/sys/kernel/osrelease");
  private static final Path KERNEL_BTF = Path.of("/sys/kernel/btf/vmlinux");
  private static final int LOOPBACK_IFINDEX = 1;

  /**
   * Asks; needs CAP_BPF and CAP_NET_ADMIN, and takes some milliseconds.
   *
   * @throws UncheckedIOException where /proc is not readable
   */
  public static KernelFeatures probe() {
    return new KernelFeatures(
        readRelease(),
        probeTcx(),
        probeHelper(ProgramType.SCHED_CLS, Libbpf.BPF_FUNC_redirect_peer()),
        probeHelper(ProgramType.SCHED_CLS, Libbpf.BPF_FUNC_redirect_neigh()),
        probeHelper(ProgramType.SCHED_CLS, Libbpf.BPF_FUNC_ktime_get_coarse_ns()),
        probeHelper(ProgramType.SYSCALL, Libbpf.BPF_FUNC_for_each_map_elem()),
        Files.exists(KERNEL_BTF));
  }

  private static String readRelease() {
    try {
      return Files.readString(RELEASE).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(RELEASE.toString(), e);
    }
  }

  /** A query of the hook fails with EINVAL where the kernel does not know it. */
  private static boolean probeTcx() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_prog_query_opts.allocate(arena);
      bpf_prog_query_opts.sz(options, bpf_prog_query_opts.sizeof());
      bpf_prog_query_opts.prog_ids(options, arena.allocate(JAVA_INT));
      final int result =
          Libbpf.bpf_prog_query_opts(LOOPBACK_IFINDEX, BpfLinks.BPF_TCX_INGRESS, options);
      return result == 0;
    }
  }

  private static boolean probeHelper(int programType, int helper) {
    return Libbpf.libbpf_probe_bpf_helper(programType, helper, MemorySegment.NULL) == 1;
  }
}
