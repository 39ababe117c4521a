package agent.maps.kernel;

/**
 * A map operation that failed: the message names the map, the operation, the entry, the numbers.
 */
public final class BpfMapException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int errno;

  public BpfMapException(String message, int errno) {
    super(message);
    this.errno = errno;
  }

  /** The kernel's positive errno. */
  public int errno() {
    return errno;
  }
}
