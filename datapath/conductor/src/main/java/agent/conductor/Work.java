package agent.conductor;

/** Long work of a conductor in bounded steps, between which the conductor executes commands. */
public interface Work {
  /** The result of one step. */
  enum Progress {
    /** The step has made progress, and more steps follow. */
    WORKED,
    /** The step waits for a future that another thread completes. */
    WAITING,
    /** The work is complete. */
    DONE
  }

  /** Executes one bounded step; must not block. */
  Progress step();

  /** Called once, instead of further steps, where a step throws or the conductor is closed. */
  void failed(RuntimeException failure);
}
