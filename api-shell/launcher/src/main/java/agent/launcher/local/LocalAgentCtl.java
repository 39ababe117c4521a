package agent.launcher.local;

import agent.cli.AgentCtl;

/**
 * The main class of agentctl for the commands that need no agent. The start script runs it on the
 * class path of the daemon where the command line has such a command; the others start on a class
 * path of the client alone, in less time.
 */
public final class LocalAgentCtl {
  private LocalAgentCtl() {}

  /**
   * Runs a command.
   *
   * @param arguments the command with its options
   */
  public static void main(String[] arguments) {
    AgentCtl.start(arguments, new AgentParts());
  }
}
