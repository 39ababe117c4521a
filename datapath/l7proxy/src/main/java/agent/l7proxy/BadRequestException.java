package agent.l7proxy;

/** A request that is refused before policy is asked; the message says what is wrong with it. */
final class BadRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  BadRequestException(String message) {
    super(message, null, false, false);
  }
}
