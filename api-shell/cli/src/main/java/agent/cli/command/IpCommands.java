package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** {@code agentctl ip}. */
public final class IpCommands {
  private static final String FAMILY = "--family";
  private static final String OWNER = "--owner";
  private static final String POOL = "--pool";
  private static final String EXPIRE = "--expire";

  private IpCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists the addresses in use.", IpCommands::list)
                .operation("GET /healthz")),
        CommandSpec.<Action>command(
                "allocate",
                "Allocates the next free address, or the given one.",
                IpCommands::allocate)
            .operation("POST /ipam, POST /ipam/{ip}")
            .argument(ArgumentSpec.optional("ADDRESS", ValueKind.TEXT, "The address."))
            .option(
                OptionSpec.text(FAMILY, "FAMILY", "ipv4 or ipv6. Default: both.")
                    .among("ipv4", "ipv6"))
            .option(OptionSpec.text(OWNER, "OWNER", "Owner of the address."))
            .option(OptionSpec.text(POOL, "POOL", "Pool of the address."))
            .option(
                OptionSpec.flag(
                    EXPIRE, "Release the address unless an endpoint claims it in time.")),
        CommandSpec.<Action>command("release", "Releases an address.", IpCommands::release)
            .operation("DELETE /ipam/{ip}")
            .argument(ArgumentSpec.required("ADDRESS", ValueKind.ADDRESS, "The address."))
            .option(OptionSpec.text(POOL, "POOL", "Pool of the address.")));
  }

  private static void list(Invocation call) throws IOException {
    final Map<String, Object> ipam = Tree.members(call.tree(RequestPath.of("healthz")), "ipam");
    if (call.wantsDocument()) {
      call.printer().document(ipam);
      return;
    }
    final Rows rows = call.rows("ADDRESS", "OWNER");
    new TreeMap<>(Tree.members(ipam, "allocations")).forEach(rows::row);
    rows.end();
  }

  private static void allocate(Invocation call) throws IOException {
    final String address = call.argument(0);
    if (address != null) {
      if (call.isSet(FAMILY) || call.isSet(EXPIRE)) {
        throw new UsageException(FAMILY + " and " + EXPIRE + " cannot be combined with an address");
      }
      call.send(
          "POST",
          RequestPath.of("ipam", address)
              .query("owner", call.option(OWNER))
              .query("pool", call.option(POOL)),
          null);
      report(call, address, "allocated");
      return;
    }
    final RequestPath path =
        RequestPath.of("ipam")
            .query("family", call.option(FAMILY))
            .query("owner", call.option(OWNER))
            .query("pool", call.option(POOL));
    final Map<String, String> headers =
        call.isSet(EXPIRE) ? Map.of("expiration", "true") : Map.of();
    if (call.wantsDocument()) {
      call.printer().document(call.open("POST", path, headers, null));
      return;
    }
    final Object lease = AnswerPrinter.tree(call.open("POST", path, headers, null));
    final Rows rows = call.rows("ADDRESS", "GATEWAY", "CIDRS", "EXPIRATION-UUID");
    for (final String family : List.of("ipv4", "ipv6")) {
      if (Tree.at(lease, family) instanceof Map<?, ?> part) {
        rows.row(
            part.get("ip"), part.get("gateway"), part.get("cidrs"), part.get("expiration-uuid"));
      }
    }
    rows.end();
  }

  private static void release(Invocation call) throws IOException {
    final String address = call.argument(0);
    call.send("DELETE", RequestPath.of("ipam", address).query("pool", call.option(POOL)), null);
    report(call, address, "released");
  }

  /** The agent answers these calls without a body; documents show the address record. */
  private static void report(Invocation call, String address, String what) throws IOException {
    if (call.wantsDocument()) {
      final String family = address.indexOf(':') < 0 ? "ipv4" : "ipv6";
      call.printer().document(Map.of("address", Map.of(family, address)));
    } else {
      call.out().println(Text.oneLine(address) + " " + what);
    }
  }
}
