package agent.cli.output;

import java.io.PrintStream;

/**
 * Rows as comma-separated values (RFC 4180, lines end with a line feed); null is empty, and a
 * control character is a question mark.
 */
public final class CsvRows implements Rows {
  private final PrintStream out;

  /** Begins a list with these headings. */
  public CsvRows(PrintStream out, String... headings) {
    this.out = out;
    row((Object[]) headings);
  }

  @Override
  public CsvRows row(Object... cells) {
    final StringBuilder line = new StringBuilder();
    for (int i = 0; i < cells.length; i++) {
      line.append(i == 0 ? "" : ",")
          .append(field(cells[i] == null ? "" : Text.oneLine(Text.of(cells[i]))));
    }
    out.println(line);
    return this;
  }

  private static String field(String text) {
    final boolean isPlain = text.chars().noneMatch(c -> c == ',' || c == '"');
    return isPlain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }

  @Override
  public void end() {
    // Every row is printed at once.
  }
}
