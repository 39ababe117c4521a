package agent.types;

/**
 * What only one agent may use is in use by another one. The message names what and, where it can be
 * seen, the process.
 */
public final class AlreadyInUseException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message one line
   */
  public AlreadyInUseException(String message) {
    super(message);
  }
}
