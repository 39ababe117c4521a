package agent.cli.output;

import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Values as text for a terminal. */
public final class Text {
  private static final String NONE = "-";
  private static final long MINUTE_SEC = 60;
  private static final long HOUR_SEC = 60 * MINUTE_SEC;
  private static final long DAY_SEC = 24 * HOUR_SEC;

  private Text() {}

  /** Returns the text with every control character replaced by a question mark. */
  public static String oneLine(String text) {
    if (text == null) {
      return "";
    }
    for (int i = 0; i < text.length(); i++) {
      if (Character.isISOControl(text.charAt(i))) {
        return text.codePoints()
            .map(c -> Character.isISOControl(c) ? '?' : c)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString();
      }
    }
    return text;
  }

  /** Returns the text of a value, or a dash where there is none. */
  public static String of(Object value) {
    return switch (value) {
      case null -> NONE;
      case Collection<?> list -> list(list);
      case Map<?, ?> map -> map(map);
      default -> value.toString().isEmpty() ? NONE : value.toString();
    };
  }

  private static String list(Collection<?> values) {
    return values.isEmpty() ? NONE : values.stream().map(Text::of).collect(Collectors.joining(","));
  }

  private static String map(Map<?, ?> values) {
    if (values.isEmpty()) {
      return NONE;
    }
    final Map<String, String> sorted = new TreeMap<>();
    values.forEach((key, value) -> sorted.put(key.toString(), of(value)));
    return sorted.entrySet().stream()
        .map(entry -> entry.getKey() + "=" + entry.getValue())
        .collect(Collectors.joining(","));
  }

  /** Returns the time since a timestamp of the contract, such as {@code 3m} or {@code 2d4h}. */
  public static String age(Object timestamp, Instant now) {
    if (timestamp == null) {
      return NONE;
    }
    try {
      return age(Duration.between(Instant.parse(timestamp.toString()), now));
    } catch (DateTimeParseException e) {
      return timestamp.toString();
    }
  }

  private static String age(Duration duration) {
    final long seconds = Math.max(0, duration.toSeconds());
    if (seconds < 2 * MINUTE_SEC) {
      return seconds + "s";
    }
    if (seconds < 2 * HOUR_SEC) {
      return seconds / MINUTE_SEC + "m";
    }
    return seconds < 2 * DAY_SEC ? seconds / HOUR_SEC + "h" : seconds / DAY_SEC + "d";
  }
}
