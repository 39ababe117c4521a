package agent.launcher.state;

/** A state file is not what the agent wrote. */
final class DamagedStateException extends Exception {
  private static final long serialVersionUID = 1L;

  DamagedStateException(String reason) {
    super(reason);
  }
}
