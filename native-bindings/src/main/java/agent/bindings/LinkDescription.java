package agent.bindings;

/**
 * A live link, as the kernel describes it.
 *
 * @param id the kernel's number for it
 * @param type a BPF_LINK_TYPE_ number: {@link #TYPE_XDP}, {@link #TYPE_TCX} or another
 * @param programId of the attached program
 * @param ifindex of a tcx or XDP link; 0 where its interface is gone, or for other types
 * @param attachType enum bpf_attach_type of a tcx link, else 0
 */
public record LinkDescription(int id, int type, int programId, int ifindex, int attachType) {
  /** BPF_LINK_TYPE_XDP. */
  public static final int TYPE_XDP = 6;

  /** BPF_LINK_TYPE_TCX. */
  public static final int TYPE_TCX = 11;

  /** Whether this is a tcx link at an ingress hook. */
  public boolean isTcxIngress() {
    return type == TYPE_TCX && attachType == BpfLinks.BPF_TCX_INGRESS;
  }
}
