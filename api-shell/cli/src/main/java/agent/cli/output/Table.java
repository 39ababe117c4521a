package agent.cli;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Aligned columns, two spaces apart; the width of the last one is not limited. The first rows of a
 * long list determine the widths, so that not all rows are held in memory.
 */
final class Table {
  private static final int DECIDING_ROWS = 1000;
  private static final String GAP = "  ";

  private final PrintStream out;
  private final int[] widths;
  private List<String[]> waiting = new ArrayList<>(); // null when the widths are decided

  Table(PrintStream out, String... headings) {
    this.out = out;
    this.widths = new int[headings.length];
    row((Object[]) headings);
  }

  /** Adds a row; null is printed as a dash. */
  Table row(Object... cells) {
    final String[] texts = new String[widths.length];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = Text.oneLine(Text.of(cells[i]));
    }
    if (waiting == null) {
      print(texts);
    } else {
      waiting.add(texts);
      if (waiting.size() > DECIDING_ROWS) {
        decide();
      }
    }
    return this;
  }

  /** Prints the rows that are not printed yet. */
  void end() {
    if (waiting != null) {
      decide();
    }
  }

  private void decide() {
    for (final String[] row : waiting) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row[i].length());
      }
    }
    final List<String[]> rows = waiting;
    waiting = null;
    rows.forEach(this::print);
  }

  private void print(String[] row) {
    final StringBuilder line = new StringBuilder();
    for (int i = 0; i < row.length; i++) {
      line.append(row[i]);
      if (i < row.length - 1) {
        line.repeat(' ', Math.max(0, widths[i] - row[i].length())).append(GAP);
      }
    }
    out.println(line);
  }
}
