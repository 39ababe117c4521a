package agent.cli.output;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * A path into a JSON value: {@code .name}, {@code ['name']}, {@code [0]}, {@code [-1]}, {@code
 * [1:3]}, {@code [*]}, {@code .*}, {@code ..name} and {@code [?(@.name=='value')]} with {@code ==},
 * {@code !=}, {@code <}, {@code <=}, {@code >}, {@code >=} or without comparison. The first dot and
 * a {@code $} may be left out.
 */
public final class JsonPath {
  /** One step: the values that it leads to from one value. */
  private interface Step {
    void from(Object value, List<Object> found);
  }

  private final String text;
  private final List<Step> steps = new ArrayList<>();
  private boolean isDefinite = true;
  private int at;

  private JsonPath(String text) {
    this.text = text;
  }

  /**
   * Parses a path.
   *
   * @throws IllegalArgumentException with the column where it is malformed
   */
  public static JsonPath of(String text) {
    final JsonPath path = new JsonPath(text);
    path.parse();
    return path;
  }

  /** Returns whether the path leads to one value at most. */
  public boolean isDefinite() {
    return isDefinite;
  }

  /** Returns the values that the path leads to. */
  public List<Object> from(Object root) {
    List<Object> values = new ArrayList<>();
    values.add(root);
    for (final Step step : steps) {
      final List<Object> found = new ArrayList<>();
      for (final Object value : values) {
        step.from(value, found);
      }
      values = found;
    }
    return values;
  }

  private void parse() {
    if (at < text.length() && (text.charAt(at) == '$' || text.charAt(at) == '@')) {
      at++;
    } else if (at < text.length() && text.charAt(at) != '.' && text.charAt(at) != '[') {
      steps.add(member(name()));
    }
    while (at < text.length()) {
      step();
    }
  }

  private void step() {
    if (text.startsWith("..", at)) {
      at += 2;
      isDefinite = false;
      steps.add(JsonPath::addAll);
      if (at < text.length() && text.charAt(at) != '[') {
        named();
      }
    } else if (text.charAt(at) == '.') {
      at++;
      if (at < text.length() && text.charAt(at) != '[') {
        named();
      }
    } else if (text.charAt(at) == '[') {
      at++;
      bracket();
    } else {
      throw malformed("'.' or '['");
    }
  }

  private void named() {
    if (text.charAt(at) == '*') {
      at++;
      addEach();
    } else {
      steps.add(member(name()));
    }
  }

  private String name() {
    final int from = at;
    while (at < text.length() && ".[]".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    if (at == from) {
      throw malformed("a name");
    }
    return text.substring(from, at);
  }

  private void bracket() {
    final int end = closing();
    final String inside = text.substring(at, end).strip();
    final int from = at;
    at = end + 1;
    if (inside.equals("*")) {
      addEach();
    } else if (inside.startsWith("?(") && inside.endsWith(")")) {
      isDefinite = false;
      final Predicate<Object> filter = filter(inside.substring(2, inside.length() - 1).strip());
      steps.add((value, found) -> each(value).stream().filter(filter).forEach(found::add));
    } else if (!inside.isEmpty() && isQuote(inside.charAt(0))) {
      steps.add(member(unquoted(inside)));
    } else if (inside.matches("-?[0-9]{1,9}")) {
      steps.add(element(Integer.parseInt(inside)));
    } else if (inside.matches("(-?[0-9]{1,9})?:(-?[0-9]{1,9})?")) {
      isDefinite = false;
      final String[] bounds = inside.split(":", -1);
      steps.add((value, found) -> slice(value, bounds[0], bounds[1], found));
    } else {
      at = from;
      throw malformed("an index, a quoted name, '*', a slice or ?(…)");
    }
  }

  /** The bracket that closes the one before, not counting those in quotes and in filters. */
  private int closing() {
    char quote = 0;
    int depth = 0;
    for (int i = at; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (quote != 0) {
        quote = c == quote ? 0 : quote;
      } else if (isQuote(c)) {
        quote = c;
      } else if (c == '[') {
        depth++;
      } else if (c == ']' && depth-- == 0) {
        return i;
      }
    }
    at = text.length();
    throw malformed("']'");
  }

  private static boolean isQuote(char c) {
    return c == '\'' || c == '"';
  }

  private static String unquoted(String quoted) {
    return quoted.substring(1, quoted.length() - 1);
  }

  private IllegalArgumentException malformed(String expected) {
    return new IllegalArgumentException(
        "'" + text + "': " + expected + " is expected at column " + (at + 1));
  }

  private void addEach() {
    isDefinite = false;
    steps.add((value, found) -> found.addAll(each(value)));
  }

  private static Step member(String name) {
    return (value, found) -> {
      if (value instanceof Map<?, ?> members && members.containsKey(name)) {
        found.add(members.get(name));
      }
    };
  }

  private static Step element(int index) {
    return (value, found) -> {
      if (value instanceof List<?> elements) {
        final int position = index < 0 ? elements.size() + index : index;
        if (position >= 0 && position < elements.size()) {
          found.add(elements.get(position));
        }
      }
    };
  }

  private static void slice(Object value, String from, String to, List<Object> found) {
    if (value instanceof List<?> elements) {
      final int size = elements.size();
      final int first = bound(from, 0, size);
      found.addAll(elements.subList(first, Math.max(first, bound(to, size, size))));
    }
  }

  private static int bound(String text, int fallback, int size) {
    final int index = text.isEmpty() ? fallback : Integer.parseInt(text);
    return Math.clamp(index < 0 ? size + index : index, 0, size);
  }

  private static Collection<?> each(Object value) {
    return switch (value) {
      case List<?> elements -> elements;
      case Map<?, ?> members -> members.values();
      case null, default -> List.of();
    };
  }

  /** The value itself and everything in it. */
  private static void addAll(Object value, List<Object> found) {
    found.add(value);
    each(value).forEach(inner -> addAll(inner, found));
  }

  private Predicate<Object> filter(String condition) {
    for (final String operator : List.of("==", "!=", "<=", ">=", "<", ">")) {
      final int position = condition.indexOf(operator);
      if (position > 0) {
        final JsonPath left = of(condition.substring(0, position).strip());
        final String right = condition.substring(position + operator.length()).strip();
        final String wanted =
            !right.isEmpty() && isQuote(right.charAt(0)) ? unquoted(right) : right;
        return value ->
            left.from(value).stream().anyMatch(found -> holds(operator, Text.of(found), wanted));
      }
    }
    final JsonPath path = of(condition);
    return value -> !path.from(value).isEmpty();
  }

  private static boolean holds(String operator, String found, String wanted) {
    final int order = compare(found, wanted);
    return switch (operator) {
      case "==" -> order == 0;
      case "!=" -> order != 0;
      case "<" -> order < 0;
      case "<=" -> order <= 0;
      case ">" -> order > 0;
      default -> order >= 0;
    };
  }

  /** Compares as numbers where both are, else as texts. */
  private static int compare(String left, String right) {
    final String number = "-?[0-9]+(\\.[0-9]+)?";
    return left.matches(number) && right.matches(number)
        ? new java.math.BigDecimal(left).compareTo(new java.math.BigDecimal(right))
        : left.compareTo(right);
  }
}
