package agent.datapath.programs.attach;

import agent.bindings.bpf.KernelFeatures;
import agent.datapath.spec.TcMode;
import agent.types.Refusal;

/** Chooses tcx links or clsact filters for all tc hooks of the node; no other class does. */
public final class TcAttachmentChoice {
  private final TcMode mode;

  private TcAttachmentChoice(TcMode mode) {
    this.mode = mode;
  }

  /**
   * Returns the requested mode; for AUTO, tcx on kernels that support it and clsact on others.
   *
   * @throws Refusal UNAVAILABLE where tcx is requested and the kernel does not support it
   */
  public static TcAttachmentChoice of(TcMode requested, KernelFeatures kernel) {
    if (requested == TcMode.TCX && !kernel.tcx()) {
      throw Refusal.unavailable(
          "",
          "kernel "
              + kernel.release()
              + " has no tcx (Linux 6.6), or the agent lacks CAP_BPF or CAP_NET_ADMIN");
    }
    if (requested != TcMode.AUTO) {
      return new TcAttachmentChoice(requested);
    }
    return new TcAttachmentChoice(kernel.tcx() ? TcMode.TCX : TcMode.CLSACT);
  }

  /** Returns the chosen mode, TCX or CLSACT. */
  public TcMode mode() {
    return mode;
  }

  /** Returns the attachment to the hook in the chosen mode. */
  Attachment chosen(TcHook hook) {
    return of(hook, mode == TcMode.TCX);
  }

  /** Returns the attachment in the other mode, which a previous run of the agent may have used. */
  Attachment other(TcHook hook) {
    return of(hook, mode != TcMode.TCX);
  }

  /** Returns whether a filter of the agent is at the hook, in either mode. */
  boolean hasFilter(TcHook hook) {
    return of(hook, false).isAttached();
  }

  private static Attachment of(TcHook hook, boolean isTcx) {
    return isTcx ? new TcxAttachment(hook) : new ClsactAttachment(hook);
  }
}
