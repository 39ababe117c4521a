package agent.types;

/**
 * What a previous run stored is there but cannot be read: damaged, not valid, of a newer format, or
 * refused by the file system. It is not the same as nothing stored: who asked keeps what is in
 * force, and changes nothing until a person acts. The message is a sentence for that person: the
 * file, the cause, what the agent does meanwhile and what can be done.
 */
public final class UnreadableStateException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates a failure.
   *
   * @param message file, cause and way out
   */
  public UnreadableStateException(String message) {
    super(message);
  }
}
