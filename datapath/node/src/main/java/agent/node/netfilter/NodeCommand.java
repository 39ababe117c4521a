package agent.node.netfilter;

import java.util.List;

/** Runs a program of the node with an argument list, without a shell, for a bounded time. */
@FunctionalInterface
public interface NodeCommand {
  /** In the place of an exit code: the program cannot be started. */
  int NOT_STARTED = -1;

  /**
   * Runs a program to its end.
   *
   * @param command its name or path, and its arguments
   * @param input what it reads from standard input
   * @return how it ended; {@link #NOT_STARTED} with the reason where it cannot be started
   */
  Result run(List<String> command, String input);

  /**
   * How a program ended.
   *
   * @param status its exit code
   * @param output what it printed, errors included
   */
  record Result(int status, String output) {
    /** Returns whether it did what it was asked to. */
    public boolean succeeded() {
      return status == 0;
    }

    /** Returns the first line of the output that is not empty, for messages. */
    String reason() {
      return output
          .lines()
          .map(String::strip)
          .filter(line -> !line.isEmpty())
          .findFirst()
          .orElse("exit code " + status);
    }
  }
}
