package agent.cli.call;

/** A failure that the command itself has reported. */
public final class ReportedException extends Exception {
  private static final long serialVersionUID = 1L;
}
