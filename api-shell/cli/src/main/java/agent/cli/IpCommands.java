package agent.cli;

import agent.cli.Invocation.UsageException;
import agent.client.RequestPath;
import agent.contract.ipam.IpamAllocationModel;
import java.io.IOException;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;

/** {@code agentctl ip}. */
final class IpCommands {
  private IpCommands() {}

  static CommandSpec build() {
    return CommandTree.group("ip", "Addresses of workloads.")
        .addSubcommand(
            "allocate",
            CommandTree.command(
                    "Allocates the next free address, or this one.", IpCommands::allocate)
                .addPositional(CommandTree.optional("ADDRESS", "The address."))
                .addOption(CommandTree.value("--family", "FAMILY", "ipv4 or ipv6; both without."))
                .addOption(CommandTree.value("--owner", "OWNER", "Who it is for."))
                .addOption(CommandTree.value("--pool", "POOL", "Pool to take it from."))
                .addOption(
                    CommandTree.flag(
                        "--expire", "Give it back unless an endpoint claims it in time.")))
        .addSubcommand(
            "release",
            CommandTree.command("Releases an address.", IpCommands::release)
                .addPositional(CommandTree.required("ADDRESS", "The address."))
                .addOption(CommandTree.value("--pool", "POOL", "Pool that it is from.")));
  }

  private static void allocate(Invocation call) throws IOException {
    final String address = call.argument(0);
    final String family = call.option("--family");
    final boolean expires = call.isSet("--expire");
    if (address != null) {
      if (family != null || expires) {
        throw new UsageException("--family and --expire do not go together with an address");
      }
      call.agent().allocateAddress(address, call.option("--owner"), call.option("--pool"));
      tell(call, address, "allocated");
      return;
    }
    if (call.wantsJson() && !expires) {
      call.printJson(
          "POST",
          RequestPath.of("ipam")
              .query("family", family)
              .query("owner", call.option("--owner"))
              .query("pool", call.option("--pool")),
          null);
      return;
    }
    final IpamAllocationModel allocation =
        call.agent().allocate(family, call.option("--owner"), call.option("--pool"), expires);
    if (call.wantsJson()) {
      call.out().println(agent.contract.WireFormat.lenientMapper().writeValueAsString(allocation));
      return;
    }
    final Table table = new Table(call.out(), "ADDRESS", "GATEWAY", "CIDRS", "EXPIRATION-UUID");
    row(table, allocation.ipv4());
    row(table, allocation.ipv6());
    table.end();
  }

  private static void row(Table table, IpamAllocationModel.Family family) {
    if (family != null) {
      table.row(family.ip(), family.gateway(), Text.list(family.cidrs()), family.expirationUuid());
    }
  }

  private static void release(Invocation call) throws IOException {
    final String address = call.argument(0);
    call.agent().release(address, call.option("--pool"));
    tell(call, address, "released");
  }

  /** The agent answers these calls without a body; JSON output shows the address record. */
  private static void tell(Invocation call, String address, String what) {
    if (call.wantsJson()) {
      final String family = address.indexOf(':') < 0 ? "ipv4" : "ipv6";
      call.out()
          .println(
              agent.contract.WireFormat.lenientMapper()
                  .writeValueAsString(Map.of("address", Map.of(family, address))));
    } else {
      call.out().println(Text.oneLine(address) + " " + what);
    }
  }
}
