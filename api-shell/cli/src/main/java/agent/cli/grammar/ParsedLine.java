package agent.cli.grammar;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A command line that was understood: the command, its options and arguments.
 *
 * @param <A> the work of a command
 */
public final class ParsedLine<A> {
  private final List<CommandSpec<A>> path = new ArrayList<>();
  private final Map<String, List<String>> options = new HashMap<>();
  private final List<String> arguments = new ArrayList<>();

  ParsedLine(CommandSpec<A> root) {
    path.add(root);
  }

  void enter(CommandSpec<A> command) {
    path.add(command);
  }

  void addOption(OptionSpec option, String value) {
    final List<String> values = options.computeIfAbsent(option.name(), key -> new ArrayList<>());
    if (!option.isRepeated()) {
      values.clear();
      values.add(value);
      return;
    }
    for (final String part : value.split(",")) {
      if (!part.isEmpty()) {
        values.add(part);
      }
    }
  }

  void addArgument(String word) {
    arguments.add(word);
  }

  /** Returns the command. */
  public CommandSpec<A> command() {
    return path.getLast();
  }

  /** Returns the words that lead to the command, the program's name first. */
  public String commandPath() {
    return String.join(" ", path.stream().map(CommandSpec::name).toList());
  }

  /** Returns whether an option is there. */
  public boolean isSet(String name) {
    return options.containsKey(name);
  }

  /** Returns the value of an option, or null. */
  public String option(String name) {
    final List<String> values = options.get(name);
    return values == null || values.isEmpty() ? null : values.getLast();
  }

  /** Returns all values of an option. */
  public List<String> options(String name) {
    return options.getOrDefault(name, List.of());
  }

  /** Returns the positional arguments from an index on. */
  public List<String> arguments(int from) {
    return arguments.subList(Math.min(from, arguments.size()), arguments.size());
  }

  /** Returns a positional argument, or null. */
  public String argument(int index) {
    return index < arguments.size() ? arguments.get(index) : null;
  }
}
