package agent.bindings;

/** A call into libbpf or the kernel that failed; names the operation, the subject and the error. */
public class BindingsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int errno;

  /**
   * A failure without an error number.
   *
   * @param message one line a person can act on
   */
  public BindingsException(String message) {
    super(message);
    this.errno = 0;
  }

  /**
   * A failed call.
   *
   * @param operation what was tried, with its subject and numbers
   * @param errno the positive error number, or the negative one as calls return it
   */
  public BindingsException(String operation, int errno) {
    super(operation + ": " + Errno.name(errno));
    this.errno = Math.abs(errno);
  }

  /** The positive error number, or 0 where the failure has none. */
  public final int errno() {
    return errno;
  }

  /**
   * Passes a call's result through, or throws where it is negative.
   *
   * @param result a value that is 0 or more, or -errno
   * @param operation what was tried
   * @return result
   */
  static int check(int result, String operation) {
    if (result < 0) {
      throw new BindingsException(operation, result);
    }
    return result;
  }
}
