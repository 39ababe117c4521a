package agent.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** A Markdown table with aligned columns. */
final class Report {
  private final String title;
  private final List<String[]> rows = new ArrayList<>();

  Report(String title, String... columns) {
    this.title = title;
    rows.add(columns);
  }

  void row(String... cells) {
    if (cells.length != rows.getFirst().length) {
      throw new IllegalArgumentException(title + ": " + cells.length + " cells");
    }
    rows.add(cells);
  }

  /** Returns the middle one of an odd number of values. */
  static double median(double[] values) {
    final double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Formats a figure: one decimal below 10, none above. */
  static String figure(double value) {
    if (Double.isNaN(value)) {
      return "–";
    }
    return String.format(Locale.ROOT, Math.abs(value) < 10 ? "%.1f" : "%.0f", value);
  }

  /** Returns the ratio of a to b as text, such as "4.4x". */
  static String ratio(double a, double b) {
    return Double.isNaN(a) || Double.isNaN(b) || b <= 0
        ? "–"
        : String.format(Locale.ROOT, "%.1fx", a / b);
  }

  @Override
  public String toString() {
    final int[] widths = new int[rows.getFirst().length];
    for (final String[] row : rows) {
      for (int i = 0; i < row.length; i++) {
        widths[i] = Math.max(widths[i], row[i].length());
      }
    }
    final StringBuilder text = new StringBuilder("## ").append(title).append("\n\n");
    for (int r = 0; r < rows.size(); r++) {
      line(text, rows.get(r), widths);
      if (r == 0) {
        text.append('|');
        for (final int width : widths) {
          text.append("-".repeat(width + 2)).append('|');
        }
        text.append('\n');
      }
    }
    return text.toString();
  }

  private static void line(StringBuilder text, String[] cells, int[] widths) {
    text.append('|');
    for (int i = 0; i < cells.length; i++) {
      text.append(' ').append(cells[i]).append(" ".repeat(widths[i] - cells[i].length()));
      text.append(" |");
    }
    text.append('\n');
  }
}
