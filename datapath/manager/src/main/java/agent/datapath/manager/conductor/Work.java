package agent.datapath.manager.conductor;

/** Long work of the conductor, done in bounded steps between which other commands go on. */
public interface Work {
  /**
   * Does one bounded step.
   *
   * @return whether all is done
   */
  boolean step();

  /** Called once where a step threw, in place of further steps. */
  void failed(RuntimeException failure);
}
