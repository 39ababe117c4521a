package agent.policy.model;

/** What policy says of a packet that opens a flow. */
public enum Verdict {
  /** It passes. */
  ALLOWED,
  /** No rule allows it. */
  NOT_ALLOWED,
  /** A deny rule forbids it. */
  DENIED
}
