package agent.node;

import java.util.List;

/**
 * Runs iproute2's {@code ip} in the network namespace of the calling thread. Arguments come from
 * checked values alone: no shell, and no word that {@code ip -batch} would read as two.
 */
public interface IpRunner {
  /**
   * A command of a batch that failed.
   *
   * @param command the command without {@code ip}
   * @param message what ip said
   */
  record Failure(String command, String message) {
    @Override
    public String toString() {
      return "ip " + command + ": " + message;
    }
  }

  /**
   * Runs commands one after the other in one process; one that fails does not stop the rest.
   *
   * @param commands each one line, words separated by single spaces
   * @return the failures in order, empty where all succeeded
   * @throws agent.types.Refusal FAILED where ip cannot be run, hangs, or stops before the end
   */
  List<Failure> batch(List<String> commands);

  /**
   * Runs one command that prints.
   *
   * @param arguments the words after {@code ip}
   * @return its lines
   * @throws agent.types.Refusal FAILED with ip's message
   */
  List<String> show(List<String> arguments);
}
