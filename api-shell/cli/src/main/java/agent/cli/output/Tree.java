package agent.cli.output;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * JSON values as maps, lists, texts, truth values, null and {@link Numeral}. What the CLI prints is
 * what the agent said, so nothing is bound to types.
 */
public final class Tree {
  /**
   * A number as it was written.
   *
   * @param text its digits
   */
  public record Numeral(String text) {
    @Override
    public String toString() {
      return text;
    }
  }

  private Tree() {}

  /** Reads the value that the parser stands on. */
  public static Object read(JsonParser json) {
    return switch (json.currentToken()) {
      case START_OBJECT -> object(json);
      case START_ARRAY -> array(json);
      case VALUE_STRING -> json.getString();
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new Numeral(json.getString());
      case VALUE_TRUE -> Boolean.TRUE;
      case VALUE_FALSE -> Boolean.FALSE;
      default -> null;
    };
  }

  private static Map<String, Object> object(JsonParser json) {
    final Map<String, Object> members = new LinkedHashMap<>();
    while (json.nextToken() == JsonToken.PROPERTY_NAME) {
      final String name = json.currentName();
      json.nextToken();
      members.put(name, read(json));
    }
    return members;
  }

  private static List<Object> array(JsonParser json) {
    final List<Object> elements = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_ARRAY) {
      elements.add(read(json));
    }
    return elements;
  }

  /** Returns what these member names lead to, or null. */
  public static Object at(Object value, String... names) {
    Object found = value;
    for (final String name : names) {
      found = found instanceof Map<?, ?> members ? members.get(name) : null;
    }
    return found;
  }

  /** Returns the elements of the array that these member names lead to; none where it is none. */
  public static List<?> list(Object value, String... names) {
    return at(value, names) instanceof List<?> elements ? elements : List.of();
  }

  /** Returns the members of the object that these names lead to; none where it is none. */
  @SuppressWarnings("unchecked") // names of members are texts
  public static Map<String, Object> members(Object value, String... names) {
    return at(value, names) instanceof Map<?, ?> members ? (Map<String, Object>) members : Map.of();
  }

  /** Returns the text that these member names lead to, or null. */
  public static String text(Object value, String... names) {
    final Object found = at(value, names);
    return found == null ? null : found.toString();
  }
}
