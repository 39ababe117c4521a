package agent.policy.model;

/** The verdict of policy on the first packet of a flow. */
public enum Verdict {
  /** The packet is forwarded. */
  ALLOWED,
  /** The packet is dropped: no rule allows it. */
  NOT_ALLOWED,
  /** The packet is dropped: a deny rule matches. */
  DENIED
}
