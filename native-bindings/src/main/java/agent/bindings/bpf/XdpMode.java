package agent.bindings.bpf;

/** Attachment modes of XDP programs (XDP_FLAGS_* of linux/if_link.h). */
public enum XdpMode {
  /** The driver runs the program. */
  NATIVE(1 << 2),
  /** The network stack runs the program, for drivers without XDP support. */
  GENERIC(1 << 1);

  private final int flags;

  XdpMode(int flags) {
    this.flags = flags;
  }

  int flags() {
    return flags;
  }
}
