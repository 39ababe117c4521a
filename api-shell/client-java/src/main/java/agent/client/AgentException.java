package agent.client;

/** The agent answered a call with an error status. */
public final class AgentException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;

  AgentException(int status, String message) {
    super(message);
    this.status = status;
  }

  /** Returns the HTTP status code. */
  public int status() {
    return status;
  }
}
