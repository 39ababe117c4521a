package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.call.RequestFile;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code agentctl prefilter}. */
public final class PrefilterCommands {
  private static final String FILE = "--file";
  private static final String REVISION = "--revision";

  private PrefilterCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists the prefixes.", PrefilterCommands::list)
                .operation("GET /prefilter")),
        change("update", "Adds prefixes.", ValueKind.TEXT, call -> change(call, "PATCH"))
            .operation("PATCH /prefilter"),
        change("delete", "Removes prefixes.", ValueKind.PREFIX, call -> change(call, "DELETE"))
            .operation("DELETE /prefilter"));
  }

  private static CommandSpec<Action> change(
      String name, String summary, ValueKind kind, Action action) {
    return CommandSpec.command(name, summary, action)
        .argument(ArgumentSpec.several("CIDR", kind, "Prefixes."))
        .option(
            OptionSpec.value(
                FILE,
                "FILE",
                ValueKind.FILE,
                "File with one prefix per line, or - for standard input."))
        .option(OptionSpec.text(REVISION, "NUMBER", "Fail unless this is the current revision."));
  }

  private static void list(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("prefilter");
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object realized = Tree.at(call.tree(path), "status", "realized");
    call.out().println("Revision: " + Tree.text(realized, "revision"));
    Tree.list(realized, "deny")
        .forEach(prefix -> call.out().println(Text.oneLine(prefix.toString())));
  }

  private static void change(Invocation call, String method) throws IOException {
    final List<String> prefixes = new ArrayList<>(call.arguments(0));
    if (call.isSet(FILE)) {
      RequestFile.text(call, call.option(FILE))
          .lines()
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .forEach(prefixes::add);
    }
    if (prefixes.isEmpty()) {
      throw new UsageException("a prefix or " + FILE + " is required");
    }
    final Map<String, Object> body = new LinkedHashMap<>();
    body.put("deny", prefixes);
    if (call.isSet(REVISION)) {
      body.put("revision", call.number(REVISION, 0));
    }
    final RequestPath path = RequestPath.of("prefilter");
    if (call.wantsDocument()) {
      call.printer().document(call.open(method, path, Map.of(), body));
      return;
    }
    final Object after = Tree.at(call.send(method, path, body), "status", "realized");
    call.out()
        .println(
            "Revision: %s, %d prefixes"
                .formatted(Tree.text(after, "revision"), Tree.list(after, "deny").size()));
  }
}
