package agent.types;

/**
 * An operation that was tried and failed: the kernel, a program or the disk did not do what was
 * asked. The message names the operation, its subject and the numbers, for example {@code map
 * policy_00012: update (identity 2031, TCP/443): EPERM}. A caller's request that is refused is a
 * {@link Refusal}.
 */
public final class OperationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates a failure without a cause of its own.
   *
   * @param message operation, subject and numbers
   */
  public OperationException(String message) {
    super(message);
  }

  /**
   * Creates a failure that was caused by another one.
   *
   * @param message operation, subject and numbers
   * @param cause the failure behind it
   */
  public OperationException(String message, Throwable cause) {
    super(message, cause);
  }
}
