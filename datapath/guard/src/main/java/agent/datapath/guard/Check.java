package agent.datapath.guard;

/**
 * The comparison of one kind of kernel objects with what the agent wants, in rounds of bounded
 * steps. For the conductor's thread. A round without differences allocates nothing.
 */
public interface Check extends AutoCloseable {
  /** The result of one step. */
  enum Progress {
    /** The step found no difference, and more steps follow. */
    COMPARED,
    /** The step repaired a difference, which may have waited for an RCU grace period. */
    REPAIRED,
    /** The round is complete; the next step begins a new one. */
    DONE
  }

  /**
   * Executes one step of at most about 100 microseconds, unless it repairs something.
   *
   * @param nowNs time of the conductor's clock
   */
  Progress step(long nowNs);

  /** Ends a round in progress, after the conductor's thread has ended. */
  @Override
  default void close() {}
}
