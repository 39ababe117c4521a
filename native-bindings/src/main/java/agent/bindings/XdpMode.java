package agent.bindings;

/** Where an XDP program runs (XDP_FLAGS_* of linux/if_link.h). */
public enum XdpMode {
  /** In the driver. */
  NATIVE(1 << 2),
  /** In the stack, for drivers without XDP. */
  GENERIC(1 << 1);

  private final int flags;

  XdpMode(int flags) {
    this.flags = flags;
  }

  int flags() {
    return flags;
  }
}
