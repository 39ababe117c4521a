package agent.bindings;

/**
 * The kernel's description of a link.
 *
 * @param id the kernel's id of the link
 * @param type a BPF_LINK_TYPE_ number: {@link #TYPE_XDP}, {@link #TYPE_TCX} or another
 * @param programId id of the attached program
 * @param ifindex interface of a tcx or XDP link; 0 if the interface was deleted, and for other
 *     types
 * @param attachType a number of enum bpf_attach_type for a tcx link; 0 for other types
 */
public record LinkDescription(int id, int type, int programId, int ifindex, int attachType) {
  /** BPF_LINK_TYPE_XDP. */
  public static final int TYPE_XDP = 6;

  /** BPF_LINK_TYPE_TCX. */
  public static final int TYPE_TCX = 11;

  /** Returns whether this is a tcx link at an ingress hook. */
  public boolean isTcxIngress() {
    return type == TYPE_TCX && attachType == BpfLink.BPF_TCX_INGRESS;
  }
}
