package agent.cli.output;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Aligned columns, two spaces apart; the last one is not padded. The first rows of a long list
 * decide the widths, so that not all rows are held in memory. On a terminal the widest columns are
 * cut until a row fits; elsewhere nothing is cut.
 */
public final class Table implements Rows {
  private static final int DECIDING_ROWS = 1000;
  private static final int NARROWEST = 8;
  private static final String GAP = "  ";
  private static final String CUT = "…";

  private final PrintStream out;
  private final Terminal terminal;
  private final int[] widths;
  private List<String[]> waiting = new ArrayList<>(); // null when the widths are decided

  /** Begins a table with these headings. */
  public Table(PrintStream out, Terminal terminal, String... headings) {
    this.out = out;
    this.terminal = terminal;
    this.widths = new int[headings.length];
    row((Object[]) headings);
  }

  @Override
  public Table row(Object... cells) {
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

  @Override
  public void end() {
    if (waiting != null) {
      decide();
    }
  }

  private void decide() {
    for (final String[] row : waiting) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], width(row[i]));
      }
    }
    if (terminal.isInteractive()) {
      fit();
    }
    final List<String[]> rows = waiting;
    waiting = null;
    rows.forEach(this::print);
  }

  private static int width(String cell) {
    return cell.codePointCount(0, cell.length());
  }

  /** Narrows the widest column until the row fits, or every column is narrow. */
  private void fit() {
    int total = GAP.length() * (widths.length - 1);
    for (final int width : widths) {
      total += width;
    }
    while (total > terminal.columns()) {
      int widest = 0;
      for (int i = 1; i < widths.length; i++) {
        widest = widths[i] >= widths[widest] ? i : widest;
      }
      if (widths[widest] <= NARROWEST) {
        return;
      }
      widths[widest]--;
      total--;
    }
  }

  private void print(String[] row) {
    final StringBuilder line = new StringBuilder();
    for (int i = 0; i < row.length; i++) {
      final String cell = cut(row[i], widths[i]);
      final String color = terminal.hasColors() ? Palette.of(cell) : null;
      line.append(color == null ? cell : Palette.paint(color, cell));
      if (i < row.length - 1) {
        line.repeat(' ', Math.max(0, widths[i] - width(cell))).append(GAP);
      }
    }
    out.println(line);
  }

  private String cut(String cell, int most) {
    if (!terminal.isInteractive() || width(cell) <= most) {
      return cell;
    }
    return cell.substring(0, cell.offsetByCodePoints(0, most - 1)) + CUT;
  }
}
