package agent.bindings;

/**
 * Reports a failed call to libbpf or the kernel; the message names operation, subject and error.
 */
public class BindingsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int errno;

  /**
   * Creates an exception without an error number.
   *
   * @param message one line that tells a user how to resolve the failure
   */
  public BindingsException(String message) {
    super(message);
    this.errno = 0;
  }

  /**
   * Creates the exception of a failed call.
   *
   * @param operation the operation with its subject and numbers
   * @param errno the error number, positive or negative
   */
  public BindingsException(String operation, int errno) {
    super(operation + ": " + Errno.name(errno));
    this.errno = Math.abs(errno);
  }

  /** Returns the positive error number, or 0 if the failure has none. */
  public final int errno() {
    return errno;
  }

  /**
   * Returns the result of a call, or throws if it is negative.
   *
   * @param result a non-negative value, or -errno
   * @param operation the operation, for the message
   * @return result
   */
  public static int check(int result, String operation) {
    if (result < 0) {
      throw new BindingsException(operation, result);
    }
    return result;
  }
}
