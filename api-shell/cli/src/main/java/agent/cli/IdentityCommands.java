package agent.cli;

import agent.cli.Invocation.UsageException;
import agent.client.RequestPath;
import agent.contract.identity.IdentityInUseModel;
import agent.contract.identity.IdentityModel;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;

/** {@code agentctl identity}. */
final class IdentityCommands {
  private IdentityCommands() {}

  static CommandSpec build() {
    return CommandTree.group("identity", "Security identities.")
        .addSubcommand(
            "list",
            CommandTree.command("Lists identities.", IdentityCommands::list)
                .addOption(CommandTree.labels())
                .addOption(CommandTree.flag("--endpoints", "Only those of local endpoints.")))
        .addSubcommand(
            "get",
            CommandTree.command("Shows an identity.", IdentityCommands::get)
                .addPositional(CommandTree.required("ID", "Number of the identity.")));
  }

  private static void list(Invocation call) throws IOException {
    final List<String> labels = CommandTree.labelsOf(call);
    if (call.isSet("--endpoints")) {
      listInUse(call, labels);
      return;
    }
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("identity").queryEach("labels", labels));
      return;
    }
    print(call, call.agent().identities(labels));
  }

  private static void listInUse(Invocation call, List<String> labels) throws IOException {
    if (!labels.isEmpty()) {
      throw new UsageException("--endpoints and --labels do not go together");
    }
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("identity", "endpoints"));
      return;
    }
    final Table table = new Table(call.out(), "ID", "ENDPOINTS", "LABELS");
    for (final IdentityInUseModel used : call.agent().identitiesInUse()) {
      table.row(used.identity().id(), used.refCount(), Text.list(used.identity().labels()));
    }
    table.end();
  }

  private static void get(Invocation call) throws IOException {
    final String id = call.argument(0);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("identity", id));
    } else {
      print(call, List.of(call.agent().identity(id)));
    }
  }

  private static void print(Invocation call, List<IdentityModel> identities) {
    final Table table = new Table(call.out(), "ID", "LABELS");
    identities.forEach(identity -> table.row(identity.id(), Text.list(identity.labels())));
    table.end();
  }
}
