package agent.cli;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Values as text for a terminal. */
final class Text {
  private static final String NONE = "-";

  private Text() {}

  /** Returns the text with every control character replaced by a question mark. */
  static String oneLine(String text) {
    if (text == null) {
      return "";
    }
    return text.codePoints()
        .map(c -> Character.isISOControl(c) ? '?' : c)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  /** Returns the text of a value, or a dash where there is none. */
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
