package agent.bindings.bpf;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfProgram.ProgramDescription;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_tc_hook;
import agent.bindings.libbpf.bpf_tc_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A filter of an interface's clsact qdisc, the attachment for kernels without tcx. Numbers identify
 * it instead of a descriptor, so it is not opened, pinned or closed. It outlives the process until
 * it is detached or its interface is deleted.
 *
 * @param ifindex an interface of this network namespace
 * @param ingress true for the interface's ingress hook, false for its egress hook
 * @param handle the filter's number at that priority, from 1
 * @param priority from 1; smaller priorities run first
 */
public record TcFilter(int ifindex, boolean ingress, int handle, int priority) {

  /**
   * Replaces the filter's program atomically; creates the filter and its qdisc if they are missing.
   *
   * @throws BindingsException if the kernel refuses; the previous program stays attached
   */
  public void update(BpfProgram program) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment hook = hook(arena);
      final int created = Libbpf.bpf_tc_hook_create(hook);
      if (created != -Errno.EEXIST) {
        check(created, "create the qdisc");
      }
      final MemorySegment options = options(arena);
      bpf_tc_opts.prog_fd(options, program.fd());
      bpf_tc_opts.flags(options, Libbpf.BPF_TC_F_REPLACE());
      check(Libbpf.bpf_tc_attach(hook, options), "update with " + program);
    }
  }

  /**
   * Removes the filter regardless of its program; does nothing if the filter, its qdisc or its
   * interface does not exist. The qdisc remains, because other programs may use it.
   *
   * @throws BindingsException if the kernel refuses
   */
  public void detach() {
    try (Arena arena = Arena.ofConfined()) {
      final int result = Libbpf.bpf_tc_detach(hook(arena), options(arena));
      if (!isGone(result)) {
        check(result, "detach");
      }
    }
  }

  /**
   * Returns the kernel's description of the filter's program.
   *
   * @return empty if the filter does not exist
   * @throws BindingsException if the kernel refuses
   */
  public Optional<ProgramDescription> info() {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = options(arena);
      final int result = Libbpf.bpf_tc_query(hook(arena), options);
      if (isGone(result)) {
        return Optional.empty();
      }
      check(result, "query");
      try (BpfProgram program = BpfProgram.openById(bpf_tc_opts.prog_id(options))) {
        return Optional.of(program.info());
      }
    }
  }

  /** Returns whether the error means that filter, qdisc or interface does not exist. */
  private static boolean isGone(int result) {
    return result == -Errno.ENOENT || result == -Errno.EINVAL || result == -Errno.ENODEV;
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

  private void check(int result, String operation) {
    BindingsException.check(
        result,
        "clsact filter %d of priority %d at %s of ifindex %d: %s"
            .formatted(handle, priority, ingress ? "ingress" : "egress", ifindex, operation));
  }
}
