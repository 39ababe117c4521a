package agent.datapath.programs.attach;

import java.nio.file.Path;

/**
 * A tc hook of an interface, with the names by which the agent recognizes its own program there.
 *
 * @param interfaceName name of the interface, for messages
 * @param ifindex index in this network namespace; 0 where the interface is unknown
 * @param isIngress true for packets that the interface receives, false for packets that it sends
 * @param program name of the agent's program; it identifies the agent's clsact filter
 * @param pin pin path of the agent's link
 */
record TcHook(String interfaceName, int ifindex, boolean isIngress, String program, Path pin) {
  /**
   * Returns the name of the program by which this hook is closed, here ({@link ClosedPrograms}) and
   * in releases up to 0.3.0; such a filter is the agent's, too.
   */
  String closedProgram() {
    return "closed_" + program;
  }

  @Override
  public String toString() {
    return "%s %s (ifindex %d, program %s)"
        .formatted(interfaceName, isIngress ? "ingress" : "egress", ifindex, program);
  }
}
