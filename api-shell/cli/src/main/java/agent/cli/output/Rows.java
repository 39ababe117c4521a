package agent.cli.output;

/** Receives the rows of a list in order. */
public interface Rows {
  /** Adds a row; null is shown as a dash. */
  Rows row(Object... cells);

  /** Prints the rows that are not printed yet. */
  void end();
}
