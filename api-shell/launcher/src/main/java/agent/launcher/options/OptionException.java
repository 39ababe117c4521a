package agent.launcher.options;

/** An option that is unknown, has a bad value or is not served: the agent exits with code 2. */
public final class OptionException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message one line, starting with the option
   */
  public OptionException(String message) {
    super(message);
  }
}
