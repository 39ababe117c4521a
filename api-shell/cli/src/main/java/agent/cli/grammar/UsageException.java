package agent.cli.grammar;

/** The command line contradicts itself, is incomplete or malformed. */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String command;

  /** Creates the failure of the command that runs. */
  public UsageException(String message) {
    this("", message);
  }

  UsageException(String command, String message) {
    super(message);
    this.command = command;
  }

  /** Returns the path of the command that the words belong to, or an empty text. */
  public String command() {
    return command;
  }
}
