package agent.cli.call;

/** The work of a command. */
@FunctionalInterface
public interface Action {
  /**
   * Runs the command.
   *
   * @param call its arguments, the agent and the terminal
   */
  void run(Invocation call) throws Exception;
}
