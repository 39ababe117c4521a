package agent.cli.help;

import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ParsedLine;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/** The help of a command, 80 columns wide. */
public final class HelpPage {
  private static final int WIDTH = 80;
  private static final int INDENT = 2;
  private static final int WIDEST_NAME = 28;

  private final PrintStream out;

  private HelpPage(PrintStream out) {
    this.out = out;
  }

  /** Prints the help of the command that a line leads to. */
  public static <A> void print(PrintStream out, ParsedLine<A> line, List<OptionSpec> global) {
    new HelpPage(out).print(line.command(), line.commandPath(), global);
  }

  private <A> void print(CommandSpec<A> command, String path, List<OptionSpec> global) {
    out.println("Usage: " + path + usage(command));
    out.println();
    paragraph(command.summary());
    for (final String text : command.details().split("\n\n")) {
      if (!text.isEmpty()) {
        out.println();
        paragraph(text);
      }
    }
    final List<String[]> commands = new ArrayList<>();
    command.commands().forEach(inner -> commands.add(row(inner.name(), inner.summary())));
    section("Commands:", commands);
    final List<String[]> arguments = new ArrayList<>();
    command.arguments().forEach(argument -> arguments.add(row(argument.usage(), text(argument))));
    section("Arguments:", arguments);
    options("Options:", command.options());
    options(command.options().isEmpty() ? "Options:" : "Global options:", global);
    if (!command.examples().isEmpty()) {
      out.println("\nExamples:");
      command.examples().forEach(e -> out.println("  " + e.line() + "    # " + e.meaning()));
    }
    if (!command.operation().isEmpty()) {
      out.println("\nCalls " + command.operation() + ".");
    }
  }

  /** Returns what follows the name of a command in its usage line. */
  static <A> String usage(CommandSpec<A> command) {
    if (command.isGroup()) {
      return " COMMAND [OPTION]...";
    }
    final StringBuilder usage = new StringBuilder(" [OPTION]...");
    command.arguments().forEach(argument -> usage.append(' ').append(argument.usage()));
    return usage.toString();
  }

  static String text(ArgumentSpec argument) {
    return argument.choices().isEmpty()
        ? argument.summary()
        : argument.summary() + " One of " + String.join(", ", argument.choices()) + ".";
  }

  private void options(String heading, List<OptionSpec> options) {
    final List<String[]> rows = new ArrayList<>();
    options.forEach(option -> rows.add(row(option.usage(), option.summary())));
    section(heading, rows);
  }

  private static String[] row(String name, String text) {
    return new String[] {name, text};
  }

  private void section(String heading, List<String[]> rows) {
    if (rows.isEmpty()) {
      return;
    }
    out.println("\n" + heading);
    int widest = 0;
    for (final String[] row : rows) {
      widest = Math.max(widest, Math.min(row[0].length(), WIDEST_NAME));
    }
    final int column = INDENT + widest + INDENT;
    for (final String[] row : rows) {
      String start = "  " + row[0];
      if (start.length() + INDENT > column) {
        out.println(start);
        start = "";
      }
      for (final String line : wrapped(row[1], WIDTH - column)) {
        out.println(start + " ".repeat(column - start.length()) + line);
        start = "";
      }
    }
  }

  private void paragraph(String text) {
    wrapped(text, WIDTH).forEach(out::println);
  }

  private static List<String> wrapped(String text, int width) {
    final List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (final String word : text.split("\\s+")) {
      if (!line.isEmpty() && line.length() + 1 + word.length() > width) {
        lines.add(line.toString());
        line = new StringBuilder();
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return lines;
  }
}
