package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Listing;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** {@code agentctl cluster}. */
public final class ClusterCommands {
  private static final String CLIENT = "--client-id";

  private ClusterCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("nodes", "Lists the nodes.", ClusterCommands::nodes)
                .operation("GET /cluster/nodes")
                .option(
                    OptionSpec.text(
                        CLIENT,
                        "ID",
                        "Only changes since the last call of the client with this id, which each answer has."))));
  }

  private static void nodes(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("cluster", "nodes");
    final Map<String, String> headers =
        call.isSet(CLIENT) ? Map.of("client-id", call.option(CLIENT)) : Map.of();
    final Object answer = AnswerPrinter.tree(call.open("GET", path, headers, null));
    final Object self = Tree.at(answer, "self");
    final Listing nodes =
        new Listing("nodes-added")
            .column("NAME", "name")
            .column("IPV4", "primary-address", "ipv4", "ip")
            .column("IPV6", "primary-address", "ipv6", "ip")
            .column("RANGE4", "primary-address", "ipv4", "alloc-range")
            .column("RANGE6", "primary-address", "ipv6", "alloc-range")
            .column("SOURCE", "source")
            .column("SELF", node -> self != null && self.equals(Tree.at(node, "name")) ? "*" : "");
    call.printer().list(answer, nodes);
  }
}
