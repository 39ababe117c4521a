package agent.cli.grammar;

import java.util.ArrayList;
import java.util.List;
import java.util.ListIterator;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Parses a command line by the table of commands. Options may stand anywhere behind the command
 * that they belong to, global ones everywhere; {@code --} ends the options.
 *
 * @param <A> the work of a command
 */
public final class LineParser<A> {
  /** The option that every command has. */
  public static final String HELP = "--help";

  /** The option of the program alone. */
  public static final String VERSION = "--version";

  private final CommandSpec<A> root;
  private final List<OptionSpec> global;

  /**
   * Creates a parser.
   *
   * @param root the program
   * @param global options that every command takes
   */
  public LineParser(CommandSpec<A> root, List<OptionSpec> global) {
    this.root = root;
    this.global = global;
  }

  /**
   * Returns the command of a line with its options and arguments; what is missing is not refused
   * where help is asked for.
   *
   * @throws UsageException where it is malformed
   */
  public ParsedLine<A> parse(List<String> words) {
    final ParsedLine<A> line = new ParsedLine<>(root);
    final ListIterator<String> rest = words.listIterator();
    boolean takesOptions = true;
    while (rest.hasNext()) {
      final String word = rest.next();
      if (takesOptions && word.equals("--")) {
        takesOptions = false;
      } else if (takesOptions && word.length() > 1 && word.startsWith("-")) {
        option(line, word, rest);
      } else if (line.command().isGroup()) {
        line.enter(subcommand(line, word));
      } else {
        line.addArgument(word);
      }
    }
    if (!line.isSet(HELP) && !line.isSet(VERSION)) {
      check(line);
    }
    return line;
  }

  private CommandSpec<A> subcommand(ParsedLine<A> line, String word) {
    final CommandSpec<A> group = line.command();
    return group
        .find(word)
        .orElseThrow(
            () ->
                new UsageException(
                    line.commandPath(),
                    "unknown command '" + word + "'" + Suggestion.of(word, names(group))));
  }

  private static <A> List<String> names(CommandSpec<A> group) {
    return group.commands().stream().map(CommandSpec::name).toList();
  }

  private void option(ParsedLine<A> line, String word, ListIterator<String> rest) {
    if (!word.startsWith("--")) {
      letters(line, word, rest);
      return;
    }
    final int equals = word.indexOf('=');
    final String name = equals < 0 ? word : word.substring(0, equals);
    final OptionSpec option =
        optionsOf(line.command())
            .filter(known -> known.name().equals(name))
            .findFirst()
            .orElseThrow(() -> unknown(line, name));
    if (!option.takesValue()) {
      if (equals >= 0) {
        throw new UsageException(line.commandPath(), name + " does not accept a value");
      }
      line.addOption(option, "");
      return;
    }
    add(line, option, equals >= 0 ? word.substring(equals + 1) : next(line, option, rest));
  }

  /** Flags may stand together, {@code -wh}; a value may follow at once, {@code -ojson}. */
  private void letters(ParsedLine<A> line, String word, ListIterator<String> rest) {
    for (int at = 1; at < word.length(); at++) {
      final String letter = "-" + word.charAt(at);
      final OptionSpec option =
          optionsOf(line.command())
              .filter(known -> known.letter().equals(letter))
              .findFirst()
              .orElseThrow(() -> unknown(line, word));
      if (!option.takesValue()) {
        line.addOption(option, "");
        continue;
      }
      final boolean isLast = at == word.length() - 1;
      add(line, option, isLast ? next(line, option, rest) : word.substring(at + 1));
      return;
    }
  }

  private String next(ParsedLine<A> line, OptionSpec option, ListIterator<String> rest) {
    if (option.isValueOptional()) {
      if (rest.hasNext()) {
        final String word = rest.next();
        if (option.choices().contains(word)) {
          return word;
        }
        rest.previous();
      }
      return option.choices().getFirst();
    }
    if (!rest.hasNext()) {
      throw new UsageException(
          line.commandPath(), option.name() + " requires a value: " + option.label());
    }
    return rest.next();
  }

  private void add(ParsedLine<A> line, OptionSpec option, String value) {
    if (!option.choices().isEmpty() && option.choices().stream().noneMatch(c -> fits(c, value))) {
      throw new UsageException(
          line.commandPath(),
          "%s: '%s' is not one of %s%s"
              .formatted(
                  option.name(),
                  value,
                  String.join(", ", option.choices()),
                  Suggestion.of(value, option.choices())));
    }
    line.addOption(option, value);
  }

  /** A choice that ends with an equals sign is the start of a value. */
  private static boolean fits(String choice, String value) {
    return choice.endsWith("=") ? value.startsWith(choice) : choice.equals(value);
  }

  private UsageException unknown(ParsedLine<A> line, String word) {
    final List<String> names = optionsOf(line.command()).map(OptionSpec::name).toList();
    return new UsageException(
        line.commandPath(), "unknown option '" + word + "'" + Suggestion.of(word, names));
  }

  private Stream<OptionSpec> optionsOf(CommandSpec<A> command) {
    return Stream.concat(command.options().stream(), global.stream());
  }

  private void check(ParsedLine<A> line) {
    final CommandSpec<A> command = line.command();
    if (command.isGroup()) {
      throw new UsageException(
          line.commandPath(), "missing command: " + String.join(", ", names(command)));
    }
    final List<ArgumentSpec> specs = command.arguments();
    final int given = line.arguments(0).size();
    for (int i = given; i < specs.size(); i++) {
      if (specs.get(i).isRequired()) {
        throw new UsageException(line.commandPath(), specs.get(i).label() + " is missing");
      }
    }
    final boolean isOpen = !specs.isEmpty() && specs.getLast().isRepeated();
    if (!isOpen && given > specs.size()) {
      throw new UsageException(
          line.commandPath(), "'" + line.argument(specs.size()) + "': unexpected argument");
    }
    for (int i = 0; i < Math.min(given, specs.size()); i++) {
      checkChoice(line, specs.get(i), line.argument(i));
    }
  }

  private void checkChoice(ParsedLine<A> line, ArgumentSpec spec, String word) {
    if (!spec.choices().isEmpty() && !spec.choices().contains(word)) {
      throw new UsageException(
          line.commandPath(),
          "'%s' is not one of %s%s"
              .formatted(
                  word, String.join(", ", spec.choices()), Suggestion.of(word, spec.choices())));
    }
  }

  /**
   * What may stand at the end of an unfinished line.
   *
   * @param command the command that the words before lead to
   * @param option the option whose value is being typed, or null
   * @param argument the argument that is being typed, or null
   * @param options the options that may follow
   * @param words the arguments before
   * @param <A> the work of a command
   */
  public record Position<A>(
      CommandSpec<A> command,
      OptionSpec option,
      ArgumentSpec argument,
      List<OptionSpec> options,
      List<String> words) {}

  /** Returns what may follow these words; a word that is not understood is passed over. */
  public Position<A> positionAfter(List<String> words) {
    CommandSpec<A> command = root;
    final List<String> arguments = new ArrayList<>();
    OptionSpec pending = null;
    boolean takesOptions = true;
    for (final String word : words) {
      if (pending != null) {
        pending = null;
      } else if (takesOptions && word.equals("--")) {
        takesOptions = false;
      } else if (takesOptions && word.startsWith("-")) {
        pending = pendingAfter(command, word);
      } else if (command.isGroup()) {
        command = command.find(word).orElse(command);
      } else {
        arguments.add(word);
      }
    }
    return new Position<>(
        command,
        pending,
        argumentAt(command, arguments.size()).orElse(null),
        takesOptions ? optionsOf(command).toList() : List.of(),
        arguments);
  }

  private OptionSpec pendingAfter(CommandSpec<A> command, String word) {
    return optionsOf(command)
        .filter(OptionSpec::takesValue)
        .filter(option -> option.name().equals(word) || option.letter().equals(word))
        .findFirst()
        .orElse(null);
  }

  private static <A> Optional<ArgumentSpec> argumentAt(CommandSpec<A> command, int index) {
    final List<ArgumentSpec> specs = command.arguments();
    if (index < specs.size()) {
      return Optional.of(specs.get(index));
    }
    return specs.isEmpty() || !specs.getLast().isRepeated()
        ? Optional.empty()
        : Optional.of(specs.getLast());
  }

  /** Returns the command that these words lead to. */
  public ParsedLine<A> commandAt(List<String> words) {
    final ParsedLine<A> line = new ParsedLine<>(root);
    for (final String word : words) {
      line.enter(subcommand(line, word));
    }
    return line;
  }
}
