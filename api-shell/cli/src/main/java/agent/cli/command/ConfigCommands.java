package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Rows;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** {@code agentctl config}. */
public final class ConfigCommands {
  private static final String ENFORCEMENT = "--policy-enforcement";
  private static final String ALL = "--all";

  private ConfigCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command(
                    "get", "Shows the options that can be changed.", ConfigCommands::get)
                .operation("GET /config")
                .details("Documents (-o json, yaml, jsonpath) contain the whole answer.")
                .option(
                    OptionSpec.flag(
                        ALL,
                        "Also show the options that cannot be changed while the agent runs."))),
        CommandSpec.<Action>command("set", "Changes options.", ConfigCommands::set)
            .operation("PATCH /config")
            .argument(
                ArgumentSpec.several(
                    "OPTION=VALUE", ValueKind.DAEMON_OPTION, "For example Debug=Enabled."))
            .option(
                OptionSpec.text(
                        ENFORCEMENT, "MODE", "Policy enforcement: default, always or never.")
                    .among("default", "always", "never"))
            .example("agentctl config set MonitorAggregationLevel=None", "see every packet"));
  }

  private static void get(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("config");
    if (call.wantsDocument()) {
      call.document(path);
    } else {
      print(call, call.tree(path));
    }
  }

  private static void print(Invocation call, Object configuration) {
    final Object status = Tree.at(configuration, "status");
    final Rows rows = call.rows("OPTION", "VALUE");
    rows.row("policy-enforcement", Tree.at(status, "realized", "policy-enforcement"));
    new TreeMap<>(Tree.members(status, "realized", "options")).forEach(rows::row);
    if (call.isSet(ALL)) {
      Tree.members(status)
          .forEach(
              (name, value) -> {
                if (!(value instanceof Map<?, ?>)) {
                  rows.row(name, value);
                }
              });
      new TreeMap<>(Tree.members(status, "daemonConfigurationMap")).forEach(rows::row);
    }
    rows.end();
  }

  private static void set(Invocation call) throws IOException {
    final Map<String, Object> options = EndpointCommands.assignments(call.arguments(0));
    if (options.isEmpty() && !call.isSet(ENFORCEMENT)) {
      throw new UsageException("an OPTION=VALUE or " + ENFORCEMENT + " is required");
    }
    final Map<String, Object> body = new LinkedHashMap<>();
    if (!options.isEmpty()) {
      body.put("options", options);
    }
    if (call.isSet(ENFORCEMENT)) {
      body.put("policy-enforcement", call.option(ENFORCEMENT));
    }
    call.send("PATCH", RequestPath.of("config"), body);
    get(call);
  }
}
