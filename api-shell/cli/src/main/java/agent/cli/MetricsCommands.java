package agent.cli;

import agent.client.RequestPath;
import agent.contract.daemon.MetricModel;
import java.io.IOException;
import picocli.CommandLine.Model.CommandSpec;

/** {@code agentctl metrics}. */
final class MetricsCommands {
  private MetricsCommands() {}

  static CommandSpec build() {
    return CommandTree.group("metrics", "Metrics.")
        .addSubcommand(
            "list",
            CommandTree.command("Lists metrics.", MetricsCommands::list)
                .addPositional(CommandTree.optional("TEXT", "Only names that contain this.")));
  }

  private static void list(Invocation call) throws IOException {
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("metrics", ""));
      return;
    }
    final String wanted = call.argument(0);
    final Table table = new Table(call.out(), "METRIC", "VALUE", "LABELS");
    for (final MetricModel metric : call.agent().metrics()) {
      if (wanted == null || metric.name().contains(wanted)) {
        table.row(metric.name(), number(metric.value()), Text.map(metric.labels()));
      }
    }
    table.end();
  }

  private static String number(double value) {
    final long whole = (long) value;
    return whole == value ? Long.toString(whole) : Double.toString(value);
  }
}
