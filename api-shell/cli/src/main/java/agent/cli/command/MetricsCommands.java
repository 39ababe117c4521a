package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Listing;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;

/** {@code agentctl metrics}. */
public final class MetricsCommands {
  private MetricsCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists metrics.", MetricsCommands::list)
                .operation("GET /metrics/")
                .argument(
                    ArgumentSpec.optional(
                        "TEXT", ValueKind.METRIC, "Only metrics whose name contains this text."))));
  }

  private static void list(Invocation call) throws IOException {
    final Listing listing =
        new Listing("")
            .column("METRIC", "name")
            .column("VALUE", metric -> number(Tree.text(metric, "value")))
            .column("LABELS", "labels");
    final String wanted = call.argument(0);
    if (wanted != null) {
      listing.where(
          metric -> Tree.at(metric, "name") instanceof String name && name.contains(wanted));
    }
    call.list(RequestPath.of("metrics", ""), listing);
  }

  private static String number(String text) {
    return text != null && text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }
}
