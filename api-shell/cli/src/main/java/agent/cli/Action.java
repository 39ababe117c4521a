package agent.cli;

/** The work of a command. */
@FunctionalInterface
interface Action {
  /**
   * Runs the command.
   *
   * @param call its arguments, the agent and the terminal
   */
  void run(Invocation call) throws Exception;
}
