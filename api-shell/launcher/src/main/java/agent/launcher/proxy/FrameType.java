package agent.launcher.proxy;

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
  JOINED,
  RELEASED,
  // to the agent
  READY,
  OPENED,
  ENFORCED,
  REPORTED,
  JOIN,
  LEAVE,
  FOUND,
  REQUEST,
  QUESTION,
  MESSAGE
}
