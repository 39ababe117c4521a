package agent.bindings.bpf;

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
 * Features of the running kernel, found by probing.
 *
 * @param release version that uname -r prints
 * @param tcx whether programs can be attached with tcx links (Linux 6.6)
 * @param redirectPeer whether bpf_redirect_peer exists (Linux 5.10)
 * @param coarseClock whether bpf_ktime_get_coarse_ns exists (Linux 5.11)
 * @param mapSweep whether syscall programs can call bpf_for_each_map_elem (Linux 5.14)
 * @param btf whether the kernel provides its own BTF (CONFIG_DEBUG_INFO_BTF)
 */
public record KernelFeatures(
    String release,
    boolean tcx,
    boolean redirectPeer,
    boolean coarseClock,
    boolean mapSweep,
    boolean btf) {
  private static final Path RELEASE = Path.of("/proc/sys/kernel/osrelease");
  private static final Path KERNEL_BTF = Path.of("/sys/kernel/btf/vmlinux");
  private static final int LOOPBACK_IFINDEX = 1;

  /**
   * Probes the kernel; requires CAP_BPF and CAP_NET_ADMIN, and takes some milliseconds.
   *
   * @throws UncheckedIOException if /proc is not readable
   */
  public static KernelFeatures probe() {
    return new KernelFeatures(
        readRelease(),
        probeTcx(),
        probeHelper(Libbpf.BPF_PROG_TYPE_SCHED_CLS(), Libbpf.BPF_FUNC_redirect_peer()),
        probeHelper(Libbpf.BPF_PROG_TYPE_SCHED_CLS(), Libbpf.BPF_FUNC_ktime_get_coarse_ns()),
        probeHelper(Libbpf.BPF_PROG_TYPE_SYSCALL(), Libbpf.BPF_FUNC_for_each_map_elem()),
        Files.exists(KERNEL_BTF));
  }

  private static String readRelease() {
    try {
      return Files.readString(RELEASE).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(RELEASE.toString(), e);
    }
  }

  /** Queries the hook, which fails with EINVAL on a kernel without tcx. */
  private static boolean probeTcx() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_prog_query_opts.allocate(arena);
      bpf_prog_query_opts.sz(options, bpf_prog_query_opts.sizeof());
      bpf_prog_query_opts.prog_ids(options, arena.allocate(JAVA_INT));
      final int result =
          Libbpf.bpf_prog_query_opts(LOOPBACK_IFINDEX, BpfLink.BPF_TCX_INGRESS, options);
      return result == 0;
    }
  }

  private static boolean probeHelper(int programType, int helper) {
    return Libbpf.libbpf_probe_bpf_helper(programType, helper, MemorySegment.NULL) == 1;
  }
}
