package agent.datapath.manager.compile;

/** An object that could not be made; the message carries what the compiler said. */
public final class CompileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CompileException(final String message) {
    super(message);
  }

  CompileException(final String message, final Throwable cause) {
    super(message, cause);
  }
}
