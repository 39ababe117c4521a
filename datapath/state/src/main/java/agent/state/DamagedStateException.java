package agent.state;

/**
 * Thrown where the content of a state file is not valid; the message names the place and the
 * reason.
 */
final class DamagedStateException extends Exception {
  private static final long serialVersionUID = 1L;

  private final boolean isNewer;

  DamagedStateException(String reason) {
    this(reason, false);
  }

  private DamagedStateException(String reason, boolean isNewer) {
    super(reason);
    this.isNewer = isNewer;
  }

  /** Returns the failure of a file that a newer release wrote. */
  static DamagedStateException newer(String reason) {
    return new DamagedStateException(reason, true);
  }

  /** Returns whether a newer release wrote the file: it is whole, but not for this release. */
  boolean isNewer() {
    return isNewer;
  }
}
