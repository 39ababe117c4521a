package agent.domain.proxy;

/** What agent and proxy process send each other; the number of a type is its place. */
enum FrameType {
  // to the proxy process
  START,
  OPEN,
  POLICY,
  COMMIT,
  REMOVE,
  ENFORCE,
  REPORT,
  FORGET,
  HEAR,
  JOINED(true),
  RELEASED(true),
  // to the agent
  READY,
  OPENED,
  ENFORCED,
  REPORTED,
  JOIN(true),
  LEAVE(true),
  FOUND(true),
  REQUEST,
  QUESTION,
  MESSAGE;

  private final boolean isPrompt;

  FrameType() {
    this(false);
  }

  FrameType(boolean isPrompt) {
    this.isPrompt = isPrompt;
  }

  /** Returns whether packets of workloads wait for it: it is short, and written at once. */
  boolean isPrompt() {
    return isPrompt;
  }
}
