package agent.state;

/**
 * Thrown where the content of a state file is not valid; the message names the place and the
 * reason.
 */
final class DamagedStateException extends Exception {
  private static final long serialVersionUID = 1L;

  DamagedStateException(String reason) {
    super(reason);
  }
}
