package agent.datapath.manager.attach;

import java.nio.file.Path;

/**
 * A tc hook of an interface, and the name under which our program is there.
 *
 * @param interfaceName for messages
 * @param ifindex in this network namespace
 * @param isIngress what the interface receives, else what it sends
 * @param program name of the program, by which our filter is told from another's
 * @param pin where its link is pinned
 */
public record Hook(String interfaceName, int ifindex, boolean isIngress, String program, Path pin) {
  @Override
  public String toString() {
    return "%s %s (ifindex %d, program %s)"
        .formatted(interfaceName, isIngress ? "ingress" : "egress", ifindex, program);
  }
}
