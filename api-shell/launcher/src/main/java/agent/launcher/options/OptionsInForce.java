package agent.launcher.options;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The options as they are in force: what the daemon has chosen where the value leaves the choice to
 * it, and {@link #NOT_ENABLED} where the part that an option is for does not run.
 */
public final class OptionsInForce {
  /** The value of an option whose part of the agent does not run. */
  public static final String NOT_ENABLED = "not enabled";

  /** Default values that request nothing. */
  private static final Set<String> NOTHING = Set.of("", "false", "0", "undefined");

  private OptionsInForce() {}

  /**
   * Returns the values by name, in the order of the table.
   *
   * @param options the options as they were given
   * @param realized the values that the daemon has chosen or expanded, by name
   */
  public static Map<String, Object> of(OptionValues options, Map<String, Object> realized) {
    final Map<String, Object> values = new LinkedHashMap<>();
    for (final AgentOption option : OptionTable.all()) {
      final Object chosen = realized.get(option.name());
      values.put(option.name(), chosen != null ? chosen : value(option, options));
    }
    return Collections.unmodifiableMap(values);
  }

  private static Object value(AgentOption option, OptionValues options) {
    if (option.served()) {
      return options.value(option.name()) instanceof Map<?, ?> map
          ? masked(map)
          : options.value(option.name());
    }
    if (!option.inert().isEmpty()) {
      return OptionParser.parse(option, List.of(option.inert().getFirst()));
    }
    return NOTHING.contains(option.defaultText())
        ? OptionParser.parse(option, List.of(option.defaultText()))
        : NOT_ENABLED;
  }

  private static Map<String, String> masked(Map<?, ?> pairs) {
    final Map<String, String> shown = new LinkedHashMap<>();
    pairs.forEach(
        (name, value) ->
            shown.put(name.toString(), SecretNames.masked(name.toString(), String.valueOf(value))));
    return shown;
  }

  /**
   * Returns the values as text.
   *
   * @param values values by name
   * @param without the names that are left out
   */
  public static Map<String, String> text(Map<String, Object> values, Set<String> without) {
    final Map<String, String> text = new LinkedHashMap<>();
    values.forEach(
        (name, value) -> {
          if (!without.contains(name)) {
            text.put(name, text(value));
          }
        });
    return text;
  }

  private static String text(Object value) {
    return switch (value) {
      case List<?> list -> list.stream().map(String::valueOf).collect(Collectors.joining(","));
      case Map<?, ?> map ->
          map.entrySet().stream()
              .map(pair -> pair.getKey() + "=" + pair.getValue())
              .collect(Collectors.joining(","));
      default -> String.valueOf(value);
    };
  }
}
