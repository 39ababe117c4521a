package agent.datapath.manager.spec;

/** Where XDP runs: {@code --prefilter-mode} (agent-api.md, start-up options). */
public enum PrefilterMode {
  /** In the driver. */
  NATIVE,
  /** In the stack, for drivers that have no XDP. */
  GENERIC
}
