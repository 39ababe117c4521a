package agent.cli;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Values as a terminal may show them. */
final class Text {
  private static final String NONE = "-";

  private Text() {}

  /** Returns one line in which no control character reaches the terminal. */
  static String oneLine(String text) {
    if (text == null) {
      return "";
    }
    return text.codePoints()
        .map(c -> Character.isISOControl(c) ? '?' : c)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  /** Returns the value's text, or a dash where there is none. */
  static String of(Object value) {
    return value == null || value.toString().isEmpty() ? NONE : value.toString();
  }

  static String list(List<?> values) {
    return values == null || values.isEmpty()
        ? NONE
        : values.stream().map(Object::toString).collect(Collectors.joining(","));
  }

  static String map(Map<String, ?> values) {
    return values == null || values.isEmpty()
        ? NONE
        : new TreeMap<>(values)
            .entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .collect(Collectors.joining(","));
  }
}
