package agent.launcher.options;

/**
 * An option that is unknown, has a bad value or is not served: the start stops with exit code 2.
 */
public final class OptionException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Names the option and says what is wrong.
   *
   * @param message one line, starting with the option
   */
  public OptionException(String message) {
    super(message);
  }
}
