package agent.cli.output;

import java.time.InstantSource;
import java.util.Map;

/**
 * What the output goes to. The start script says what standard output and error are, because the
 * JVM needs longer to find that out than for all of a command.
 *
 * @param columns width of the terminal that standard output is; 0 where it is none
 * @param hasColors whether states are coloured
 * @param showsProgress whether standard error is a terminal, which shows what takes long
 * @param clock the time that ages are counted from
 */
public record Terminal(int columns, boolean hasColors, boolean showsProgress, InstantSource clock) {
  /** Width of standard output, set by the start script where that is a terminal. */
  private static final String COLUMNS = "AGENTCTL_COLUMNS";

  /** Set by the start script where standard error is a terminal. */
  private static final String PROGRESS = "AGENTCTL_PROGRESS";

  private static final int WIDEST = 10_000;

  /** Returns the terminal that the environment describes; {@code NO_COLOR} is respected. */
  public static Terminal of(Map<String, String> environment) {
    final int columns = number(environment.getOrDefault(COLUMNS, ""));
    final boolean isPlain =
        !environment.getOrDefault("NO_COLOR", "").isEmpty()
            || "dumb".equals(environment.get("TERM"));
    return new Terminal(
        columns,
        columns > 0 && !isPlain,
        !environment.getOrDefault(PROGRESS, "").isEmpty(),
        InstantSource.system());
  }

  private static int number(String text) {
    return text.matches("[0-9]{1,5}") ? Math.min(Integer.parseInt(text), WIDEST) : 0;
  }

  /** Returns whether standard output is a terminal. */
  public boolean isInteractive() {
    return columns > 0;
  }

  /** Returns the terminal without a width, so that no cell is cut. */
  public Terminal unlimited() {
    return new Terminal(0, hasColors, showsProgress, clock);
  }
}
