package agent.cli;

import agent.cli.call.Action;
import agent.cli.command.BpfCommands;
import agent.cli.command.ClusterCommands;
import agent.cli.command.ConfigCommands;
import agent.cli.command.EndpointCommands;
import agent.cli.command.FqdnCommands;
import agent.cli.command.IdentityCommands;
import agent.cli.command.IpCommands;
import agent.cli.command.MapCommands;
import agent.cli.command.MetricsCommands;
import agent.cli.command.PolicyCommands;
import agent.cli.command.PrefilterCommands;
import agent.cli.command.ServiceCommands;
import agent.cli.command.StatusCommands;
import agent.cli.event.MonitorCommand;
import agent.cli.event.ObserveCommand;
import agent.cli.event.PcapCommand;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.LineParser;
import agent.cli.grammar.OptionSpec;
import java.util.List;

/**
 * All commands, from which the parser, help, man pages and completions are made. A group builds its
 * commands when a line names it, because a short command ends sooner than all would be built.
 */
final class CommandTree {
  static final String NAME = "agentctl";

  private CommandTree() {}

  static CommandSpec<Action> build() {
    return CommandSpec.group(
            NAME, "Controls the network agent of this node.", CommandTree::commands)
        .details(
            """
            Commands call the management API on the Unix socket of the agent. Those that name no API \
            operation need no agent.

            Exit code: 0 success; 1 where the agent refused, did not answer in time, or the output could \
            not be written; 2 for a wrong command line.

            Environment: AGENT_HOST is the address of the agent if --host is not given. NO_COLOR \
            disables colours.""")
        .option(OptionSpec.flag(LineParser.VERSION, "Show the version.").withLetter("-V"))
        .example("agentctl status", "show the status of the agent and its parts")
        .example("agentctl endpoint list -o jsonpath='.[*].id'", "print the ids of all endpoints")
        .example("agentctl policy validate rules.yaml", "check rules without an agent");
  }

  private static List<CommandSpec<Action>> commands() {
    return List.of(
        StatusCommands.status(),
        StatusCommands.health(),
        CommandSpec.group(
            "endpoint", "Endpoints: the workloads of this node.", EndpointCommands::build),
        CommandSpec.group(
            "identity", "Identities: the numbers of label sets.", IdentityCommands::build),
        CommandSpec.group("ip", "Addresses of workloads.", IpCommands::build),
        CommandSpec.group("policy", "Policy rules.", PolicyCommands::build),
        CommandSpec.group("fqdn", "DNS names that policy rules use.", FqdnCommands::build),
        CommandSpec.group(
            "service",
            "Services: a frontend address that is balanced over backends.",
            ServiceCommands::build),
        CommandSpec.group(
            "prefilter",
            "Prefilter: source prefixes that are dropped at XDP.",
            PrefilterCommands::build),
        CommandSpec.group("map", "BPF maps of the agent.", MapCommands::build),
        CommandSpec.group(
            "bpf", "Pinned BPF maps, read from the kernel without an agent.", BpfCommands::build),
        CommandSpec.group("config", "Options of the agent.", ConfigCommands::build),
        MonitorCommand.command(),
        ObserveCommand.command(),
        PcapCommand.command(),
        CommandSpec.group("cluster", "Nodes known to the agent.", ClusterCommands::build),
        CommandSpec.group("metrics", "Metrics.", MetricsCommands::build),
        DebugCommands.debugInformation(),
        DebugCommands.bugtool(),
        HelpCommands.completion(),
        HelpCommands.man(),
        HelpCommands.help(),
        HelpCommands.version(),
        HelpCommands.complete(),
        HelpCommands.training());
  }
}
