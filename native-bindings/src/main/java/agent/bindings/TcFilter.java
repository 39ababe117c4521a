package agent.bindings;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_tc_hook;
import agent.bindings.libbpf.bpf_tc_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Attachment by clsact filters, for kernels without tcx. A filter is named by interface, hook,
 * priority and handle; it outlives the process, and is replaced atomically.
 *
 * @param ifindex an interface of this network namespace
 * @param ingress whether at the interface's ingress hook, else at its egress hook
 * @param handle the filter's number at that priority, from 1
 * @param priority smaller runs first, from 1
 */
public record TcFilter(int ifindex, boolean ingress, int handle, int priority) {

  /**
   * Attaches the program, in place of the one that this filter has; makes the clsact qdisc where it
   * is missing.
   *
   * @return 0 or -errno
   */
  public int attachOrReplace(int programFd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment hook = hook(arena);
      final int created = Libbpf.bpf_tc_hook_create(hook);
      if (created < 0 && created != -Errno.EEXIST) {
        return created;
      }
      final MemorySegment options = options(arena);
      bpf_tc_opts.prog_fd(options, programFd);
      bpf_tc_opts.flags(options, Libbpf.BPF_TC_F_REPLACE());
      return Libbpf.bpf_tc_attach(hook, options);
    }
  }

  /**
   * Detaches this filter's program; the clsact qdisc stays, for others may use it.
   *
   * @return 0 or -errno
   */
  public int detach() {
    try (Arena arena = Arena.ofConfined()) {
      return Libbpf.bpf_tc_detach(hook(arena), options(arena));
    }
  }

  /**
   * The id of the attached program.
   *
   * @return the id, or -errno (-ENOENT where there is none)
   */
  public int programId() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = options(arena);
      final int result = Libbpf.bpf_tc_query(hook(arena), options);
      return result < 0 ? result : bpf_tc_opts.prog_id(options);
    }
  }

  private MemorySegment hook(Arena arena) {
    final MemorySegment hook = bpf_tc_hook.allocate(arena);
    bpf_tc_hook.sz(hook, bpf_tc_hook.sizeof());
    bpf_tc_hook.ifindex(hook, ifindex);
    bpf_tc_hook.attach_point(hook, ingress ? Libbpf.BPF_TC_INGRESS() : Libbpf.BPF_TC_EGRESS());
    return hook;
  }

  private MemorySegment options(Arena arena) {
    final MemorySegment options = bpf_tc_opts.allocate(arena);
    bpf_tc_opts.sz(options, bpf_tc_opts.sizeof());
    bpf_tc_opts.handle(options, handle);
    bpf_tc_opts.priority(options, priority);
    return options;
  }
}
