package agent.launcher.options;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads options from the command line and the environment. Each reader returns the texts of each
 * option in their order; texts of two sources are not combined.
 */
final class OptionSources {
  private static final String PREFIX = "AGENT_";

  /** A variable of agentctl: the address of the agent. */
  private static final String CLIENTS = "AGENT_HOST";

  private OptionSources() {}

  /** Reads {@code --name value}, {@code --name=value}, {@code -x value}, {@code -xvalue}. */
  static Map<String, List<String>> commandLine(List<String> arguments) {
    final Map<String, List<String>> given = new LinkedHashMap<>();
    int i = 0;
    while (i < arguments.size()) {
      final String argument = arguments.get(i++);
      final AgentOption option;
      final String shown;
      String value;
      if (argument.startsWith("--") && argument.length() > 2) {
        final String[] parts = argument.split("=", 2);
        shown = parts[0];
        value = parts.length == 2 ? parts[1] : null;
        option = OptionTable.byName(shown.substring(2));
      } else if (argument.startsWith("-") && argument.length() > 1 && !argument.equals("--")) {
        shown = argument.substring(0, 2);
        final String rest = argument.substring(2);
        value = rest.isEmpty() ? null : rest.startsWith("=") ? rest.substring(1) : rest;
        option = OptionTable.byShortName(argument.charAt(1));
      } else {
        throw new OptionException(argument + ": unexpected argument");
      }
      if (option == null) {
        throw new OptionException(shown + ": unknown option");
      }
      if (value == null && option.type() == OptionType.BOOL) {
        value = "true";
      }
      if (value == null) {
        if (i == arguments.size()) {
          throw new OptionException(shown + ": missing value");
        }
        value = arguments.get(i++);
      }
      given.computeIfAbsent(option.name(), name -> new ArrayList<>()).add(value);
    }
    return given;
  }

  /** Reads {@code AGENT_<NAME>}; names that are not of an option are added to {@code unknown}. */
  static Map<String, List<String>> environment(
      Map<String, String> environment, List<String> unknown) {
    final Map<String, AgentOption> byVariable = new LinkedHashMap<>();
    OptionTable.all().forEach(option -> byVariable.put(option.environmentName(), option));
    final Map<String, List<String>> given = new LinkedHashMap<>();
    environment.forEach(
        (variable, value) -> {
          final AgentOption option = byVariable.get(variable);
          if (option != null) {
            given.put(option.name(), List.of(value));
          } else if (variable.startsWith(PREFIX) && !variable.equals(CLIENTS)) {
            unknown.add(variable);
          }
        });
    return given;
  }
}
