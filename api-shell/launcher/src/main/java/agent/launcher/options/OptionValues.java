package agent.launcher.options;

import agent.types.NumberOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The checked values of all options by name. The command line has precedence over the environment,
 * then come the configuration file and the defaults of the table.
 */
public final class OptionValues {
  private final Map<String, Object> values;
  private final Set<String> given;
  private final List<String> unknownVariables;
  private final String configFile;

  private OptionValues(
      Map<String, Object> values,
      Set<String> given,
      List<String> unknownVariables,
      String configFile) {
    this.values = values;
    this.given = given;
    this.unknownVariables = unknownVariables;
    this.configFile = configFile;
  }

  /**
   * Reads all sources.
   *
   * @param arguments the command line
   * @param environment the environment
   * @return every option's value
   * @throws OptionException for an unknown option or a bad value
   */
  public static OptionValues read(List<String> arguments, Map<String, String> environment) {
    final List<String> unknown = new ArrayList<>();
    final Map<String, List<String>> line = OptionSources.commandLine(arguments);
    final Map<String, List<String>> variables = OptionSources.environment(environment, unknown);
    final Map<String, List<String>> merged =
        new LinkedHashMap<>(file(line, variables, environment));
    merged.putAll(variables);
    merged.putAll(line);

    final Map<String, Object> values = new LinkedHashMap<>();
    for (final AgentOption option : OptionTable.all()) {
      final List<String> texts = merged.getOrDefault(option.name(), List.of(option.defaultText()));
      values.put(option.name(), OptionParser.parse(option, texts));
    }
    return new OptionValues(
        values,
        new LinkedHashSet<>(merged.keySet()),
        List.copyOf(unknown),
        configFile(line, variables, environment));
  }

  private static String configFile(
      Map<String, List<String>> line,
      Map<String, List<String>> variables,
      Map<String, String> environment) {
    final List<String> asked = line.getOrDefault("config", variables.get("config"));
    if (asked != null) {
      return Path.of(asked.getLast()).toAbsolutePath().normalize().toString();
    }
    final String home = environment.get("HOME");
    return home == null ? "" : standardFile(home).toString();
  }

  private static Path standardFile(String home) {
    return Path.of(home, "agent.yaml");
  }

  private static Map<String, List<String>> file(
      Map<String, List<String>> line,
      Map<String, List<String>> variables,
      Map<String, String> environment) {
    final List<String> asked = line.getOrDefault("config", variables.get("config"));
    final String standardText = OptionTable.byName("config").defaultText();
    if (asked != null && !asked.getLast().equals(standardText)) {
      return OptionFile.read(Path.of(asked.getLast()));
    }
    final String home = environment.get("HOME");
    if (home == null) {
      return Map.of();
    }
    final Path standard = standardFile(home);
    return Files.exists(standard) ? OptionFile.read(standard) : Map.of();
  }

  /**
   * Whether any source names the option.
   *
   * @param name long name
   * @return false where the default applies
   */
  public boolean isGiven(String name) {
    return given.contains(name);
  }

  /**
   * Returns the environment variables that begin with {@code AGENT_} and name no option.
   *
   * @return their names
   */
  public List<String> unknownVariables() {
    return unknownVariables;
  }

  /**
   * A BOOL.
   *
   * @param name long name
   * @return its value
   */
  public boolean bool(String name) {
    return (Boolean) values.get(name);
  }

  /**
   * An INT, or the seconds of a DURATION.
   *
   * @param name long name
   * @return its value
   */
  public long number(String name) {
    return (Long) values.get(name);
  }

  /** Returns the value of an INT, or the seconds of a DURATION, that a part declares. */
  public int number(NumberOption option) {
    return (int) number(option.name());
  }

  /**
   * A STRING.
   *
   * @param name long name
   * @return its value, empty where there is none
   */
  public String text(String name) {
    return (String) values.get(name);
  }

  /**
   * A STRINGS.
   *
   * @param name long name
   * @return its elements
   */
  @SuppressWarnings("unchecked")
  public List<String> texts(String name) {
    return (List<String>) values.get(name);
  }

  /**
   * A MAP.
   *
   * @param name long name
   * @return its pairs
   */
  @SuppressWarnings("unchecked")
  public Map<String, String> pairs(String name) {
    return (Map<String, String>) values.get(name);
  }

  /** Returns the path of the configuration file, which need not exist; empty for none. */
  public String configFile() {
    return configFile;
  }

  /**
   * Whether the option has the value of the table, named or not.
   *
   * @param name long name
   * @return false where another value is given
   */
  public boolean isDefault(String name) {
    final AgentOption option = OptionTable.byName(name);
    return values.get(name).equals(OptionParser.parse(option, List.of(option.defaultText())));
  }

  /**
   * Returns the options that have another value here.
   *
   * @param others the other values
   * @return long names, in the order of the table
   */
  public List<String> changedFrom(OptionValues others) {
    return values.keySet().stream()
        .filter(name -> !values.get(name).equals(others.values.get(name)))
        .toList();
  }

  Object value(String name) {
    return values.get(name);
  }
}
