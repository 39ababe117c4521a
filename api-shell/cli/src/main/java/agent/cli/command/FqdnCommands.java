package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Listing;
import agent.cli.output.Text;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;

/** {@code agentctl fqdn}. */
public final class FqdnCommands {
  private static final String PATTERN = "--matchpattern";
  private static final String CIDR = "--cidr";

  private FqdnCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(CommandSpec.group("cache", "Names with their addresses.", FqdnCommands::cache));
  }

  private static List<CommandSpec<Action>> cache() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists names.", FqdnCommands::list)
                .operation("GET /fqdn/cache, GET /fqdn/cache/{id}")
                .argument(
                    ArgumentSpec.optional(
                        "ENDPOINT", ValueKind.ENDPOINT, "Only names that this endpoint looked up."))
                .option(pattern("Only names that match, such as '*.example.com'."))
                .option(
                    OptionSpec.text(CIDR, "CIDR", "Only names with an address within this CIDR."))),
        CommandSpec.<Action>command(
                "clean", "Removes names; rules no longer use their addresses.", FqdnCommands::clean)
            .operation("DELETE /fqdn/cache")
            .option(pattern("Only names that match. Default: all.")));
  }

  private static OptionSpec pattern(String meaning) {
    return OptionSpec.text(PATTERN, "PATTERN", meaning).withLetter("-p");
  }

  private static void list(Invocation call) throws IOException {
    final RequestPath path =
        call.argument(0) == null
            ? RequestPath.of("fqdn", "cache")
            : RequestPath.of("fqdn", "cache", call.argument(0));
    call.list(
        path.query("matchpattern", call.option(PATTERN)).query("cidr", call.option(CIDR)),
        new Listing("")
            .column("FQDN", "fqdn")
            .column("SOURCE", "source")
            .column("TTL", "ttl")
            .column("EXPIRATION", "expiration-time")
            .column("ADDRESSES", "ips"));
  }

  private static void clean(Invocation call) throws IOException {
    final String pattern = call.option(PATTERN);
    call.send("DELETE", RequestPath.of("fqdn", "cache").query("matchpattern", pattern), null);
    if (!call.wantsDocument()) {
      call.out().println((pattern == null ? "all names" : Text.oneLine(pattern)) + " removed");
    }
  }
}
