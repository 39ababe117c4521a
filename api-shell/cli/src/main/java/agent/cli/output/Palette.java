package agent.cli.output;

import java.util.Map;

/** Colours of the words that say how something is. */
final class Palette {
  private static final String GREEN = "\u001b[32m";
  private static final String YELLOW = "\u001b[33m";
  private static final String RED = "\u001b[31m";
  private static final String END = "\u001b[0m";

  private static final Map<String, String> COLORS =
      Map.ofEntries(
          Map.entry("Ok", GREEN),
          Map.entry("OK", GREEN),
          Map.entry("ready", GREEN),
          Map.entry("ok", GREEN),
          Map.entry("ALLOWED", GREEN),
          Map.entry("Warning", YELLOW),
          Map.entry("Degraded", YELLOW),
          Map.entry("Pending", YELLOW),
          Map.entry("restoring", YELLOW),
          Map.entry("regenerating", YELLOW),
          Map.entry("waiting-for-identity", YELLOW),
          Map.entry("waiting-to-regenerate", YELLOW),
          Map.entry("insert", YELLOW),
          Map.entry("delete", YELLOW),
          Map.entry("Failure", RED),
          Map.entry("Stopped", RED),
          Map.entry("not-ready", RED),
          Map.entry("disconnecting", RED),
          Map.entry("disconnected", RED),
          Map.entry("invalid", RED),
          Map.entry("DENIED", RED));

  private Palette() {}

  /** Returns the colour of a cell, or null where it has none. */
  static String of(String cell) {
    return COLORS.get(cell);
  }

  static String paint(String color, String text) {
    return color + text + END;
  }
}
