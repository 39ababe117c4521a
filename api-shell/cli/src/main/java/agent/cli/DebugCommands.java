package agent.cli;

import agent.cli.call.Action;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.TreeMap;

/** {@code agentctl debuginfo} and {@code agentctl bugtool}. */
final class DebugCommands {
  private static final String MAP_ENTRIES = "--map-entries";
  private static final long DEFAULT_MAP_ENTRIES = 10_000;
  private static final DateTimeFormatter STAMP =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss").withZone(ZoneOffset.UTC);

  private DebugCommands() {}

  static CommandSpec<Action> debugInformation() {
    return CommandSpec.<Action>command(
            "debuginfo",
            "Shows the internal state of the agent for debugging.",
            DebugCommands::show)
        .operation("GET /debuginfo")
        .details("The table is a summary; documents (-o json, yaml) contain the whole answer.");
  }

  static CommandSpec<Action> bugtool() {
    return CommandSpec.<Action>command(
            "bugtool", "Collects the data for a bug report in an archive.", DebugCommands::collect)
        .operation("all GET operations")
        .details(
            """
            The archive (zip, readable for its owner alone) holds the answers of the agent, its \
            maps, the events that it keeps, and devices, routes, rules and BPF objects of the \
            node. Values whose names suggest a secret, passwords in addresses and private keys \
            are masked. What could not be collected is listed in errors.txt. The agent does \
            not have to run.""")
        .argument(
            ArgumentSpec.optional(
                "FILE",
                ValueKind.FILE,
                "Archive file. Default: agent-bugtool-TIME.zip in the working directory."))
        .option(
            OptionSpec.text(
                MAP_ENTRIES,
                "NUMBER",
                "Maximum entries of each map. Default: " + DEFAULT_MAP_ENTRIES + "."));
  }

  private static void show(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("debuginfo");
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object answer = call.tree(path);
    final Rows rows = call.rows("FIELD", "VALUE");
    rows.row("agent-version", Tree.at(answer, "agent-version"));
    rows.row("kernel-version", Tree.at(answer, "kernel-version"));
    for (final String list : List.of("endpoint-list", "service-list", "environment-variables")) {
      rows.row(list, Tree.list(answer, list).size() + " entries");
    }
    rows.row("policy-revision", Tree.at(answer, "policy", "revision"));
    new TreeMap<>(Tree.members(answer, "subsystem"))
        .forEach((name, value) -> rows.row("subsystem " + name, value));
    rows.end();
  }

  private static void collect(Invocation call) throws IOException {
    final long entries = call.number(MAP_ENTRIES, DEFAULT_MAP_ENTRIES);
    if (entries < 0) {
      throw new UsageException(MAP_ENTRIES + ": '" + entries + "' is negative");
    }
    final String given = call.argument(0);
    final Path file =
        Path.of(given == null ? "agent-bugtool-" + STAMP.format(call.now()) + ".zip" : given);
    final int failures = new Bugtool(call, entries).write(file);
    call.out().println(Text.oneLine(file.toString()));
    if (failures > 0) {
      call.err()
          .println(
              "Warning: "
                  + failures
                  + " parts could not be collected; see errors.txt in the archive");
    }
  }
}
