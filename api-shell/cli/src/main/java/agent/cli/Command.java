package agent.cli;

/** What a command does. */
@FunctionalInterface
interface Command {
  /**
   * Runs it.
   *
   * @param call its arguments, the agent and the terminal
   * @return the exit code
   */
  int run(Invocation call) throws Exception;
}
