package agent.maps.kernel;

/**
 * Reports a failed map operation; the message names map, operation, entry, error and fill level.
 */
public final class BpfMapException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int errno;

  public BpfMapException(String message, int errno) {
    super(message);
    this.errno = errno;
  }

  /** Returns the kernel's errno as a positive number. */
  public int errno() {
    return errno;
  }
}
