package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.DurationText;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Listing;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.AgentException;
import agent.client.RequestPath;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** {@code agentctl endpoint log}. */
final class EndpointLogCommand {
  private static final String FOLLOW = "--follow";
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final int NOT_FOUND = 404;

  private EndpointLogCommand() {}

  public static CommandSpec<Action> command() {
    return EndpointCommands.withId(
            "log", "Shows the state changes of an endpoint.", EndpointLogCommand::show)
        .operation("GET /endpoint/{id}/log")
        .details(
            """
            With --follow the command ends when the endpoint is removed, and JSON is one object per line.""")
        .option(OptionSpec.flag(FOLLOW, "Keep running, and show further changes.").withLetter("-f"))
        .option(OptionSpec.text(CommonOptions.INTERVAL, "TIME", "Polling interval. Default: 1s."));
  }

  private static void show(Invocation call) throws Exception {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0), "log");
    if (call.isSet(FOLLOW)) {
      follow(call, path);
    } else {
      call.list(path, listing(call));
    }
  }

  private static Listing listing(Invocation call) {
    return new Listing("")
        .column("TIME", "timestamp")
        .column("AGE", entry -> Text.age(Tree.at(entry, "timestamp"), call.now()))
        .column("CODE", "code")
        .column("STATE", "state")
        .column("MESSAGE", "message");
  }

  private static void follow(Invocation call, RequestPath path) throws Exception {
    final Duration interval =
        DurationText.of(CommonOptions.INTERVAL, call.option(CommonOptions.INTERVAL), INTERVAL);
    List<?> shown = List.of();
    boolean isFirst = true;
    final Rows rows = call.wantsDocument() ? null : call.rows(listing(call).headings());
    while (!call.out().checkError()) {
      final List<?> log;
      try {
        log = Tree.list(call.tree(path));
      } catch (AgentException e) {
        if (isFirst || e.status() != NOT_FOUND) {
          throw e;
        }
        call.err().println("endpoint " + Text.oneLine(call.argument(0)) + " was removed");
        return;
      }
      print(call, log.subList(overlap(shown, log), log.size()), rows);
      call.out().flush();
      shown = log;
      isFirst = false;
      try {
        Thread.sleep(interval);
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  /** The log keeps its last entries only: how many of the new ones the old ones end with. */
  private static int overlap(List<?> before, List<?> after) {
    for (int count = Math.min(before.size(), after.size()); count > 0; count--) {
      if (before.subList(before.size() - count, before.size()).equals(after.subList(0, count))) {
        return count;
      }
    }
    return 0;
  }

  private static void print(Invocation call, List<?> entries, Rows rows) throws IOException {
    for (final Object entry : entries) {
      switch (call.format().kind()) {
        case JSON -> call.out().println(JsonTreeWriter.compact(entry));
        case YAML -> {
          call.out().println("---");
          call.printer().document(entry);
        }
        case JSONPATH -> call.printer().document(entry);
        default -> rows.row(listing(call).cells(entry));
      }
    }
    if (rows != null) {
      rows.end();
    }
  }
}
