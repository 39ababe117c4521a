package agent.datapath.spec;

/**
 * The sources of ipcache entries in ascending precedence: where several sources have an entry for
 * one prefix, the highest wins; when it is removed, the next one replaces it.
 */
public enum IpcacheSource {
  /** A CIDR of a rule, or an address of a name that a rule selects. */
  OUTSIDE,
  /** An address of this node. */
  NODE,
  /** An address of an endpoint of this node. */
  ENDPOINT
}
