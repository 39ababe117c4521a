package agent.datapath.programs.compile;

/** A BPF object cannot be compiled or read; the message contains the output of the compiler. */
public final class CompileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CompileException(String message) {
    super(message);
  }

  CompileException(String message, Throwable cause) {
    super(message, cause);
  }
}
