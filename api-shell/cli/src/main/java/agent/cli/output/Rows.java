package agent.cli.output;

/** Takes the rows of a list as they come. */
public interface Rows {
  /** Adds a row; null is shown as a dash. */
  Rows row(Object... cells);

  /** Prints the rows that are not printed yet. */
  void end();
}
