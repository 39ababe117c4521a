package agent.cli.grammar;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A command, or a group of commands, as the parser, the help texts, the man pages and the
 * completions know it. The commands of a group are built when a command line names the group.
 *
 * @param <A> the work of a command
 */
public final class CommandSpec<A> {
  /**
   * A command line with its meaning.
   *
   * @param line the command line
   * @param meaning what it does
   */
  public record Example(String line, String meaning) {}

  private final String name;
  private final String summary;
  private final A action;
  private final Supplier<List<CommandSpec<A>>> commands;
  private final List<ArgumentSpec> arguments = new ArrayList<>();
  private final List<OptionSpec> options = new ArrayList<>();
  private final List<Example> examples = new ArrayList<>();
  private String details = "";
  private String operation = "";
  private boolean isHidden;
  private List<CommandSpec<A>> built;

  private CommandSpec(
      String name, String summary, A action, Supplier<List<CommandSpec<A>>> commands) {
    this.name = name;
    this.summary = summary;
    this.action = action;
    this.commands = commands;
  }

  /** Returns a command with an action. */
  public static <A> CommandSpec<A> command(String name, String summary, A action) {
    return new CommandSpec<>(name, summary, action, List::of);
  }

  /** Returns a group of commands. */
  public static <A> CommandSpec<A> group(
      String name, String summary, Supplier<List<CommandSpec<A>>> commands) {
    return new CommandSpec<>(name, summary, null, commands);
  }

  /** Adds an argument behind the others. */
  public CommandSpec<A> argument(ArgumentSpec argument) {
    arguments.add(argument);
    return this;
  }

  /** Adds an option. */
  public CommandSpec<A> option(OptionSpec option) {
    options.add(option);
    return this;
  }

  /** Adds an example to help and man page. */
  public CommandSpec<A> example(String line, String meaning) {
    examples.add(new Example(line, meaning));
    return this;
  }

  /** Sets the paragraphs of help and man page, parted by empty lines. */
  public CommandSpec<A> details(String paragraphs) {
    details = paragraphs.strip();
    return this;
  }

  /** Sets the operations of the API that the command calls. */
  public CommandSpec<A> operation(String calls) {
    operation = calls;
    return this;
  }

  /** Leaves the command out of help and completions. */
  public CommandSpec<A> hidden() {
    isHidden = true;
    return this;
  }

  /** Returns the word by which the command is called. */
  public String name() {
    return name;
  }

  /** Returns one sentence that says what the command does. */
  public String summary() {
    return summary;
  }

  /** Returns the paragraphs of help and man page. */
  public String details() {
    return details;
  }

  /** Returns the operations of the API that the command calls, or an empty text. */
  public String operation() {
    return operation;
  }

  /** Returns the work of the command, or null for a group. */
  public A action() {
    return action;
  }

  /** Returns the positional arguments. */
  public List<ArgumentSpec> arguments() {
    return arguments;
  }

  /** Returns the options of this command alone. */
  public List<OptionSpec> options() {
    return options;
  }

  /** Returns the examples. */
  public List<Example> examples() {
    return examples;
  }

  /** Returns whether the command is a group of others. */
  public boolean isGroup() {
    return action == null;
  }

  /** Returns the commands of a group, without the hidden ones. */
  public List<CommandSpec<A>> commands() {
    return all().stream().filter(command -> !command.isHidden).toList();
  }

  Optional<CommandSpec<A>> find(String word) {
    return all().stream().filter(command -> command.name.equals(word)).findFirst();
  }

  private List<CommandSpec<A>> all() {
    if (built == null) {
      built = commands.get();
    }
    return built;
  }
}
