package agent.cli.help;

import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** What may stand at the end of an unfinished command line. */
public final class Candidates {
  /** The line that stands for the files of the shell. */
  public static final String FILES = ":file";

  /** Offers the names that a running agent knows. */
  @FunctionalInterface
  public interface LiveNames {
    /**
     * Offers names with their meanings.
     *
     * @param kind what is completed
     * @param words the arguments before
     * @param offer takes a name and its meaning
     */
    void offer(ValueKind kind, List<String> words, BiConsumer<String, String> offer);
  }

  private final LiveNames names;
  private final Map<String, String> found = new LinkedHashMap<>();

  private Candidates(LiveNames names) {
    this.names = names;
  }

  /**
   * Returns the candidates with their meanings.
   *
   * @param parser the parser of the program
   * @param words the words of the line; the last one is being typed and may be empty
   * @param names asked for what only a running agent knows
   */
  public static <A> Map<String, String> of(
      LineParser<A> parser, List<String> words, LiveNames names) {
    final Candidates candidates = new Candidates(names);
    final String typed = words.isEmpty() ? "" : words.getLast();
    final List<String> before = words.isEmpty() ? words : words.subList(0, words.size() - 1);
    candidates.find(parser.positionAfter(before), typed);
    candidates.found.keySet().removeIf(name -> !name.startsWith(typed) && !name.equals(FILES));
    return candidates.found;
  }

  private <A> void find(LineParser.Position<A> position, String typed) {
    final int equals = typed.indexOf('=');
    if (position.option() != null) {
      value(position, position.option(), "", typed);
    } else if (typed.startsWith("--") && equals > 0) {
      final String name = typed.substring(0, equals);
      position.options().stream()
          .filter(option -> option.name().equals(name) && option.takesValue())
          .forEach(option -> value(position, option, name + "=", typed.substring(equals + 1)));
    } else if (typed.startsWith("-")) {
      position.options().forEach(option -> found.put(option.name(), option.summary()));
    } else if (position.command().isGroup()) {
      commands(position.command());
    } else if (position.argument() != null) {
      argument(position, position.argument());
    }
  }

  private <A> void commands(CommandSpec<A> group) {
    group.commands().forEach(command -> found.put(command.name(), command.summary()));
  }

  private <A> void argument(LineParser.Position<A> position, ArgumentSpec argument) {
    argument.choices().forEach(choice -> found.put(choice, ""));
    offer(argument.kind(), position.words(), "");
  }

  /** Values of an option; of one with several values the last one is completed. */
  private <A> void value(
      LineParser.Position<A> position, OptionSpec option, String prefix, String typed) {
    final int comma = option.isRepeated() ? typed.lastIndexOf(',') : -1;
    final String start = prefix + typed.substring(0, comma + 1);
    option.choices().forEach(choice -> found.put(start + choice, ""));
    offer(option.kind(), position.words(), start);
  }

  private void offer(ValueKind kind, List<String> words, String prefix) {
    if (kind == ValueKind.FILE) {
      found.put(FILES, "");
    } else if (kind != ValueKind.TEXT) {
      names.offer(kind, words, (name, meaning) -> found.put(prefix + name, meaning));
    }
  }
}
