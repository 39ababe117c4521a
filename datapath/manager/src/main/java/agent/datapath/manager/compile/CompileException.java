package agent.datapath.manager.compile;

/** An object that could not be made; the message carries what the compiler said. */
public final class CompileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CompileException(String message) {
    super(message);
  }

  CompileException(String message, Throwable cause) {
    super(message, cause);
  }
}
