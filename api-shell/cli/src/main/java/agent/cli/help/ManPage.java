package agent.cli.help;

import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import java.util.List;
import java.util.Locale;

/**
 * A man page of section 1 in the {@code man} macros of roff: a command, or a group with all its
 * commands.
 */
public final class ManPage {
  private final StringBuilder page = new StringBuilder();

  private ManPage() {}

  /**
   * Returns the page of a command.
   *
   * @param path the words that lead to it
   * @param command the command
   * @param global options that every command takes
   * @param version the version of the program
   */
  public static <A> String of(
      String path, CommandSpec<A> command, List<OptionSpec> global, String version) {
    final ManPage page = new ManPage();
    page.build(path, command, global, version);
    return page.page.toString();
  }

  private <A> void build(
      String path, CommandSpec<A> command, List<OptionSpec> global, String version) {
    final String name = path.replace(' ', '-');
    request("TH", quoted(name.toUpperCase(Locale.ROOT)), "1", "\"\"", quoted(version), "\"agent\"");
    section("NAME");
    line(name + " \\- " + escaped(command.summary().replaceFirst("\\.$", "")));
    section("SYNOPSIS");
    synopsis(path, command);
    section("DESCRIPTION");
    description(command);
    if (command.isGroup()) {
      section("COMMANDS");
      commands(path, command);
    } else {
      arguments(command);
    }
    section("OPTIONS");
    options(command.options());
    options(global);
    if (!command.examples().isEmpty()) {
      section("EXAMPLES");
      command.examples().forEach(e -> item(e.line(), e.meaning()));
    }
    section("SEE ALSO");
    seeAlso(path, command);
  }

  private <A> void commands(String path, CommandSpec<A> group) {
    for (final CommandSpec<A> command : group.commands()) {
      final String inner = path + " " + command.name();
      if (command.isGroup()) {
        item(inner + " COMMAND", command.summary());
        continue;
      }
      request("SS", quoted(inner + HelpPage.usage(command)));
      description(command);
      arguments(command);
      options(command.options());
      command.examples().forEach(e -> item(e.line(), e.meaning()));
    }
  }

  private <A> void synopsis(String path, CommandSpec<A> command) {
    line("\\fB" + escaped(path) + "\\fR" + escaped(HelpPage.usage(command)));
  }

  private <A> void description(CommandSpec<A> command) {
    line(escaped(command.summary()));
    for (final String text : command.details().split("\n\n")) {
      if (!text.isEmpty()) {
        request("PP");
        text.lines().forEach(part -> line(escaped(part)));
      }
    }
    if (!command.operation().isEmpty()) {
      request("PP");
      line("Calls " + escaped(command.operation()) + ".");
    }
  }

  private <A> void arguments(CommandSpec<A> command) {
    for (final ArgumentSpec argument : command.arguments()) {
      item(argument.usage(), HelpPage.text(argument));
    }
  }

  private void options(List<OptionSpec> options) {
    options.forEach(option -> item(option.usage(), option.summary()));
  }

  /** A group names its program, the program its groups. */
  private <A> void seeAlso(String path, CommandSpec<A> command) {
    final int lastSpace = path.lastIndexOf(' ');
    if (lastSpace > 0) {
      request("BR", escaped(path.substring(0, lastSpace).replace(' ', '-')), "(1)");
      return;
    }
    String end = "(1),";
    final List<String> pages =
        command.commands().stream()
            .filter(CommandSpec::isGroup)
            .map(inner -> escaped(path + "-" + inner.name()))
            .toList();
    for (int i = 0; i < pages.size(); i++) {
      end = i == pages.size() - 1 ? "(1)" : end;
      request("BR", pages.get(i), end);
    }
  }

  private void section(String heading) {
    request("SH", quoted(heading));
  }

  private void item(String tag, String text) {
    request("TP");
    line("\\fB" + escaped(tag) + "\\fR");
    line(escaped(text));
  }

  private void request(String name, String... arguments) {
    page.append('.').append(name);
    for (final String argument : arguments) {
      page.append(' ').append(argument);
    }
    page.append('\n');
  }

  private static String quoted(String text) {
    return '"' + escaped(text).replace("\"", "\\(dq") + '"';
  }

  private void line(String text) {
    // A dot or an apostrophe at the start of a line would be a request.
    page.append(text.startsWith(".") || text.startsWith("'") ? "\\&" : "")
        .append(text)
        .append('\n');
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\e").replace("-", "\\-");
  }
}
