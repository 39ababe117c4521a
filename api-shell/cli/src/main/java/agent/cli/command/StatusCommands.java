package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Listing;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.AgentException;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** {@code agentctl status} and {@code agentctl health}. */
public final class StatusCommands {
  private static final String BRIEF = "--brief";
  private static final List<String> COMPONENTS =
      List.of(
          "agent",
          "kvstore",
          "container-runtime",
          "cni-file",
          "orch",
          "flowobs",
          "auth-certificate-provider");

  private StatusCommands() {}

  public static CommandSpec<Action> status() {
    return CommonOptions.watched(
        CommandSpec.<Action>command(
                "status", "Shows the status of the agent.", StatusCommands::show)
            .details("Documents (-o json, yaml, jsonpath) contain the answer of GET /healthz.")
            .operation("GET /healthz, GET /health")
            .option(OptionSpec.flag(BRIEF, "Show only the states.")));
  }

  public static CommandSpec<Action> health() {
    return CommonOptions.watched(
        CommandSpec.<Action>command(
                "health", "Shows the health of the agent's modules.", StatusCommands::modules)
            .operation("GET /health")
            .option(OptionSpec.flag(BRIEF, "Show only the levels.")));
  }

  private static Map<String, String> headers(Invocation call) {
    return call.isSet(BRIEF) ? Map.of("brief", "true") : Map.of();
  }

  private static void modules(Invocation call) throws IOException {
    call.printer()
        .list(call.open("GET", RequestPath.of("health"), headers(call), null), modulesOf(call));
  }

  private static Listing modulesOf(Invocation call) {
    return new Listing("modules")
        .column("MODULE", "module-id")
        .column("LEVEL", "level")
        .column("LAST-OK", module -> Text.age(Tree.at(module, "last-ok"), call.now()))
        .column("MESSAGE", "message");
  }

  private static void show(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("healthz");
    if (call.wantsDocument()) {
      call.printer().document(call.open("GET", path, headers(call), null));
      return;
    }
    final Object status = AnswerPrinter.tree(call.open("GET", path, headers(call), null));
    final Rows components = call.rows("COMPONENT", "STATE", "MESSAGE");
    for (final String name : COMPONENTS) {
      if (Tree.at(status, name) != null) {
        components.row(name, Tree.at(status, name, "state"), Tree.at(status, name, "msg"));
      }
    }
    components.end();
    if (!call.isSet(BRIEF)) {
      call.out().println();
      details(call, status);
      call.out().println();
      moduleTable(call);
    }
  }

  private static void details(Invocation call, Object status) {
    final Rows rows = call.rows("DATAPATH", "VALUE");
    row(rows, "agent-version", Tree.at(status, "agent-version"));
    row(rows, "kernel", Tree.at(status, "kernel", "release"));
    if (Tree.at(status, "kernel", "missing") instanceof List<?> missing) {
      missing.forEach(feature -> row(rows, "kernel-without", feature));
    }
    row(rows, "attach-mode", Tree.at(status, "attach-mode"));
    final Object reason = Tree.at(status, "host-routing", "reason");
    final Object mode = Tree.at(status, "host-routing", "mode");
    row(rows, "host-routing", reason == null ? mode : mode + " (" + reason + ")");
    row(rows, "inter-host-routing", Tree.at(status, "routing", "inter-host-routing-mode"));
    row(rows, "intra-host-routing", Tree.at(status, "routing", "intra-host-routing-mode"));
    row(rows, "tunnel-protocol", Tree.at(status, "routing", "tunnel-protocol"));
    row(rows, "masquerading", Tree.at(status, "masquerading", "enabled"));
    row(rows, "clock-source", Tree.at(status, "clock-source", "mode"));
    if (Tree.at(status, "bpf-maps", "maps") instanceof List<?> maps) {
      row(rows, "bpf-maps", maps.size());
    }
    row(rows, "identity-range", identityRange(status));
    row(rows, "ipam", ipam(Tree.members(status, "ipam")));
    row(rows, "flow-observer", flows(Tree.members(status, "flowobs", "observer")));
    row(rows, "cluster", compact(Tree.at(status, "cluster")));
    rows.end();
  }

  private static Object identityRange(Object status) {
    final Object least = Tree.at(status, "identity-range", "min-identity");
    final Object most = Tree.at(status, "identity-range", "max-identity");
    return least == null ? null : least + "-" + Text.of(most);
  }

  private static Object ipam(Map<String, Object> ipam) {
    final Object status = ipam.get("status");
    final int taken = Tree.members(ipam, "allocations").size();
    final String addresses = taken + (taken == 1 ? " address" : " addresses") + " in use";
    return ipam.isEmpty() ? null : status == null ? addresses : status + ", " + addresses;
  }

  private static Object flows(Map<String, Object> observer) {
    return observer.isEmpty()
        ? null
        : "%s of %s events, %s seen in %s"
            .formatted(
                Text.of(observer.get("current-flows")),
                Text.of(observer.get("max-flows")),
                Text.of(observer.get("seen-flows")),
                Text.of(observer.get("uptime")));
  }

  private static Object compact(Object value) {
    return value instanceof Map<?, ?> ? JsonTreeWriter.compact(value) : value;
  }

  private static void row(Rows rows, String name, Object value) {
    if (value != null) {
      rows.row(name, value);
    }
  }

  private static void moduleTable(Invocation call) throws IOException {
    try {
      call.list(RequestPath.of("health"), modulesOf(call));
    } catch (AgentException e) {
      call.out().println("Modules: " + Text.oneLine(e.getMessage()));
    }
  }
}
