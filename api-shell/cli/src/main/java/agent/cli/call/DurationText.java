package agent.cli.call;

import agent.cli.grammar.UsageException;
import java.time.Duration;

/**
 * A time on the command line: {@code 500ms}, {@code 10s}, {@code 2m}, or seconds without a unit.
 */
public final class DurationText {
  private DurationText() {}

  public static Duration of(String option, String text, Duration fallback) {
    if (text == null) {
      return fallback;
    }
    final String number = text.replaceFirst("(ms|s|m)$", "");
    if (!number.matches("[0-9]{1,6}(\\.[0-9]{1,3})?")
        || new java.math.BigDecimal(number).signum() == 0) {
      throw new UsageException(
          option + ": '" + text + "' is not a positive duration such as 500ms, 10s or 2m");
    }
    final int unitMs = text.endsWith("ms") ? 1 : text.endsWith("m") ? 60_000 : 1000;
    return Duration.ofMillis(
        Math.max(
            1,
            new java.math.BigDecimal(number)
                .multiply(new java.math.BigDecimal(unitMs))
                .longValue()));
  }
}
