package agent.cli;

import agent.cli.Invocation.Command;
import agent.cli.Invocation.OutputFormat;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ScopeType;

/**
 * All commands. They are built without annotations, because reading annotations takes most of the
 * time of a short command.
 */
final class CommandTree {
  static final String HOST = "--host";
  static final String OUTPUT = "--output";

  private CommandTree() {}

  static CommandSpec build() {
    return group("agentctl", "Talks to the network agent of this node.")
        .addOption(
            OptionSpec.builder("-H", HOST)
                .paramLabel("ADDRESS")
                .type(String.class)
                .scopeType(ScopeType.INHERIT)
                .description(
                    "Address of the agent, unix://PATH.",
                    "Default: AGENT_HOST, or /var/run/agent/agent.sock.")
                .build())
        .addOption(
            OptionSpec.builder("-o", OUTPUT)
                .paramLabel("FORMAT")
                .type(OutputFormat.class)
                .converters(CommandTree::outputFormat)
                .completionCandidates(List.of("json", "table"))
                .scopeType(ScopeType.INHERIT)
                .description("json or table. Default: table.")
                .build())
        .addOption(
            OptionSpec.builder("-V", "--version")
                .type(boolean.class)
                .versionHelp(true)
                .description("Shows the version.")
                .build())
        .versionProvider(() -> new String[] {"agentctl " + version()})
        .addSubcommand("status", StatusCommands.build())
        .addSubcommand("endpoint", EndpointCommands.build())
        .addSubcommand("identity", IdentityCommands.build())
        .addSubcommand("ip", IpCommands.build())
        .addSubcommand("policy", PolicyCommands.build())
        .addSubcommand("prefilter", PrefilterCommands.build())
        .addSubcommand("map", MapCommands.build())
        .addSubcommand("metrics", MetricsCommands.build())
        .addSubcommand("completion", CompletionCommand.build());
  }

  private static OutputFormat outputFormat(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "json" -> OutputFormat.JSON;
      case "table" -> OutputFormat.TABLE;
      default ->
          throw new picocli.CommandLine.TypeConversionException(
              "'" + text + "' is neither json nor table");
    };
  }

  private static String version() {
    final String version = AgentCtl.class.getPackage().getImplementationVersion();
    return version == null ? "of a development build" : version;
  }

  /** Returns a command that has only subcommands. */
  static CommandSpec group(String name, String description) {
    return withHelp(CommandSpec.create().name(name), description);
  }

  /** Returns a command with an action. */
  static CommandSpec command(String description, Command action) {
    return withHelp(CommandSpec.wrapWithoutInspection(action), description);
  }

  private static CommandSpec withHelp(CommandSpec spec, String description) {
    spec.usageMessage().description(description).sortOptions(false).autoWidth(true);
    return spec.addOption(
        OptionSpec.builder("-h", "--help")
            .type(boolean.class)
            .usageHelp(true)
            .description("Shows this help.")
            .build());
  }

  static PositionalParamSpec required(String label, String description) {
    return positional(label, description).arity("1").required(true).type(String.class).build();
  }

  static PositionalParamSpec optional(String label, String description) {
    return positional(label, description).arity("0..1").type(String.class).build();
  }

  static PositionalParamSpec several(int index, String label, String description) {
    return PositionalParamSpec.builder()
        .index(index + "..*")
        .paramLabel(label)
        .description(description)
        .arity("0..*")
        .type(List.class)
        .auxiliaryTypes(String.class)
        .build();
  }

  private static PositionalParamSpec.Builder positional(String label, String description) {
    return PositionalParamSpec.builder().index("0").paramLabel(label).description(description);
  }

  static OptionSpec flag(String name, String description) {
    return OptionSpec.builder(name).type(boolean.class).description(description).build();
  }

  static OptionSpec value(String name, String label, String description) {
    return OptionSpec.builder(name)
        .paramLabel(label)
        .type(String.class)
        .description(description)
        .build();
  }

  static OptionSpec labels() {
    return OptionSpec.builder("-l", "--labels")
        .paramLabel("LABEL")
        .type(List.class)
        .auxiliaryTypes(String.class)
        .splitRegex(",")
        .description("Only what has these labels, [source:]key[=value].")
        .build();
  }

  static List<String> labelsOf(Invocation call) {
    final List<String> labels = call.option("--labels");
    return labels == null ? List.of() : labels;
  }
}
