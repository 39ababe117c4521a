package agent.cli;

import agent.cli.Invocation.Command;
import agent.cli.Invocation.UsageException;
import agent.client.RequestPath;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.datapath.PrefilterModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** {@code agentctl prefilter}. */
final class PrefilterCommands {
  private PrefilterCommands() {}

  private interface Change {
    PrefilterModel apply(PrefilterListModel list) throws IOException;
  }

  static CommandSpec build() {
    return CommandTree.group("prefilter", "Sources whose packets are dropped first of all.")
        .addSubcommand("list", CommandTree.command("Lists the prefixes.", PrefilterCommands::list))
        .addSubcommand(
            "update", change("Adds prefixes.", call -> change(call, call.agent()::addToPrefilter)))
        .addSubcommand(
            "delete",
            change("Removes prefixes.", call -> change(call, call.agent()::removeFromPrefilter)));
  }

  private static CommandSpec change(String description, Command action) {
    return CommandTree.command(description, action)
        .addPositional(CommandTree.several(0, "CIDR", "Prefixes."))
        .addOption(CommandTree.value("--file", "FILE", "Prefixes, one a line."))
        .addOption(
            OptionSpec.builder("--revision")
                .paramLabel("NUMBER")
                .type(Long.class)
                .description("Refuse unless this is the current revision.")
                .build());
  }

  private static void list(Invocation call) throws IOException {
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("prefilter"));
    } else {
      print(call, call.agent().prefilter());
    }
  }

  private static void print(Invocation call, PrefilterModel prefilter) {
    final PrefilterListModel realized = prefilter.status().realized();
    call.out().println("Revision: " + realized.revision());
    realized.deny().forEach(prefix -> call.out().println(Text.oneLine(prefix)));
  }

  private static void change(Invocation call, Change change) throws IOException {
    final List<String> prefixes = new ArrayList<>(call.arguments(0));
    final String file = call.option("--file");
    if (file != null) {
      prefixes.addAll(read(file));
    }
    if (prefixes.isEmpty()) {
      throw new UsageException("a prefix or --file is needed");
    }
    final PrefilterModel after =
        change.apply(new PrefilterListModel(prefixes, call.option("--revision")));
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("prefilter"));
      return;
    }
    final PrefilterListModel realized = after.status().realized();
    call.out()
        .println("Revision: " + realized.revision() + ", " + realized.deny().size() + " prefixes");
  }

  private static List<String> read(String file) {
    try {
      return Files.readAllLines(Path.of(file)).stream()
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .toList();
    } catch (IOException e) {
      throw new UsageException("cannot read '" + file + "': " + e.getMessage());
    }
  }
}
