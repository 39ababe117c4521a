package agent.datapath.manager.spec;

/** The XDP mode, {@code --prefilter-mode} (agent-api.md, start-up options). */
public enum PrefilterMode {
  /** The driver runs the program. */
  NATIVE,
  /** The network stack runs the program, for drivers without XDP support. */
  GENERIC
}
