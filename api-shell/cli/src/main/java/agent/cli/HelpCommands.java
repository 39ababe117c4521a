package agent.cli;

import agent.cli.call.Action;
import agent.cli.call.ClientVersion;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ParsedLine;
import agent.cli.grammar.ValueKind;
import agent.cli.help.Candidates;
import agent.cli.help.CompletionScript;
import agent.cli.help.HelpPage;
import agent.cli.help.ManPage;
import agent.cli.output.Text;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Commands about the commands: help, man pages, completions and the version. */
final class HelpCommands {
  private static final String DIRECTORY = "--directory";

  private HelpCommands() {}

  static CommandSpec<Action> help() {
    return CommandSpec.<Action>command(
            "help", "Shows the help of a command.", HelpCommands::showHelp)
        .argument(ArgumentSpec.several("COMMAND", ValueKind.COMMAND, "The command."));
  }

  static CommandSpec<Action> version() {
    return CommandSpec.command(
        "version", "Shows the version.", call -> call.out().println(ClientVersion.text()));
  }

  static CommandSpec<Action> completion() {
    return CommandSpec.<Action>command(
            "completion", "Prints the completion script of a shell.", HelpCommands::printCompletion)
        .details(
            """
            Completes commands and options, and, if the agent is running, ids, names of maps and \
            labels.""")
        .argument(ArgumentSpec.oneOf("SHELL", "The shell.", "bash", "zsh", "fish"))
        .example("source <(agentctl completion bash)", "enable completion in this shell")
        .example("agentctl completion fish | source", "enable completion in fish");
  }

  static CommandSpec<Action> man() {
    return CommandSpec.<Action>command("man", "Prints a man page.", HelpCommands::printManPage)
        .argument(ArgumentSpec.several("COMMAND", ValueKind.COMMAND, "The command or group."))
        .option(
            OptionSpec.value(
                DIRECTORY,
                "DIR",
                ValueKind.FILE,
                "Write the pages of all commands to this directory instead."))
        .example("agentctl man endpoint | man -l -", "show the man page of the endpoint commands");
  }

  /** Called by the scripts of {@code completion}. */
  static CommandSpec<Action> complete() {
    return CommandSpec.<Action>command(
            "complete",
            "Prints what may stand at the end of a line.",
            HelpCommands::printCandidates)
        .argument(ArgumentSpec.several("WORD", ValueKind.TEXT, "The words of the line."))
        .hidden();
  }

  /** Called by the script that creates the cache of compiled classes. */
  static CommandSpec<Action> training() {
    return CommandSpec.<Action>command(
            "training", "Runs the command lines of standard input.", HelpCommands::runLines)
        .hidden();
  }

  private static LineParser<Action> parser() {
    return new LineParser<>(CommandTree.build(), CommonOptions.globalOptions());
  }

  private static void showHelp(Invocation call) {
    final ParsedLine<Action> line = parser().commandAt(call.arguments(0));
    HelpPage.print(call.out(), line, CommonOptions.globalOptions());
  }

  private static void printCompletion(Invocation call) {
    call.out().print(CompletionScript.of(call.argument(0)));
  }

  private static void printManPage(Invocation call) throws IOException {
    if (!call.isSet(DIRECTORY)) {
      final ParsedLine<Action> line = parser().commandAt(call.arguments(0));
      call.out().print(page(line.commandPath(), line.command()));
      return;
    }
    final Path directory = Files.createDirectories(Path.of(call.option(DIRECTORY)));
    final CommandSpec<Action> root = CommandTree.build();
    write(directory, root.name(), root);
    for (final CommandSpec<Action> command : root.commands()) {
      if (command.isGroup()) {
        write(directory, root.name() + " " + command.name(), command);
      }
    }
  }

  private static void write(Path directory, String path, CommandSpec<Action> command)
      throws IOException {
    Files.writeString(directory.resolve(path.replace(' ', '-') + ".1"), page(path, command));
  }

  private static String page(String path, CommandSpec<Action> command) {
    return ManPage.of(path, command, CommonOptions.globalOptions(), ClientVersion.text());
  }

  private static void printCandidates(Invocation call) {
    final LineParser<Action> parser = parser();
    Candidates.of(parser, call.arguments(0), new AgentNames(call, parser))
        .forEach(
            (name, meaning) ->
                call.out()
                    .println(
                        Text.oneLine(name)
                            + (meaning.isEmpty() ? "" : "\t" + Text.oneLine(meaning))));
  }

  private static void runLines(Invocation call) throws IOException {
    final BufferedReader lines =
        new BufferedReader(new InputStreamReader(call.in(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      new AgentCtl(call.surroundings()).run(line.strip().split(" +"));
    }
  }
}
