package agent.dns;

import agent.types.IpAddress;

/** Knows which addresses flows of this node go to now. */
@FunctionalInterface
public interface LiveAddresses {
  /** No address is in use: an address goes when its time is over. */
  LiveAddresses NONE = address -> false;

  /**
   * Returns whether a connection to an address is open. Called on the thread of the names, often;
   * it must not wait.
   */
  boolean inUse(IpAddress address);
}
