package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Listing;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;

/** {@code agentctl identity}. */
public final class IdentityCommands {
  private static final String ENDPOINTS = "--endpoints";

  private IdentityCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists identities.", IdentityCommands::list)
                .operation("GET /identity, GET /identity/endpoints")
                .option(CommonOptions.labels())
                .option(OptionSpec.flag(ENDPOINTS, "Only identities of local endpoints."))),
        CommandSpec.<Action>command("get", "Shows an identity.", IdentityCommands::get)
            .operation("GET /identity/{id}")
            .argument(ArgumentSpec.required("ID", ValueKind.IDENTITY, "Number of the identity.")));
  }

  private static void list(Invocation call) throws IOException {
    final List<String> labels = call.options(CommonOptions.LABELS);
    if (!call.isSet(ENDPOINTS)) {
      call.list(
          RequestPath.of("identity").queryEach("labels", labels),
          new Listing("").column("ID", "id").column("LABELS", "labels"));
      return;
    }
    if (!labels.isEmpty()) {
      throw new UsageException(ENDPOINTS + " and " + CommonOptions.LABELS + " cannot be combined");
    }
    call.list(
        RequestPath.of("identity", "endpoints"),
        new Listing("")
            .column("ID", "identity", "id")
            .column("ENDPOINTS", "refCount")
            .column("LABELS", "identity", "labels"));
  }

  private static void get(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("identity", call.argument(0));
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object identity = call.tree(path);
    call.rows("ID", "LABELS").row(Tree.at(identity, "id"), Tree.at(identity, "labels")).end();
  }
}
