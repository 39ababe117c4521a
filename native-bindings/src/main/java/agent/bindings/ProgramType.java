package agent.bindings;

/** Numbers of the program types that the agent uses (enum bpf_prog_type, linux/bpf.h). */
public final class ProgramType {
  /** BPF_PROG_TYPE_SCHED_CLS: tc and tcx. */
  public static final int SCHED_CLS = 3;

  /** BPF_PROG_TYPE_XDP. */
  public static final int XDP = 6;

  /** BPF_PROG_TYPE_SYSCALL: run by a system call. */
  public static final int SYSCALL = 31;

  private ProgramType() {}

  /** The name as bpftool prints it, e.g. "sched_cls", or "type 99". */
  public static String name(int type) {
    return switch (type) {
      case SCHED_CLS -> "sched_cls";
      case XDP -> "xdp";
      case SYSCALL -> "syscall";
      default -> "type " + type;
    };
  }
}
