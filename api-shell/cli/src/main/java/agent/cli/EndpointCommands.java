package agent.cli;

import agent.cli.Invocation.Command;
import agent.cli.Invocation.UsageException;
import agent.client.RequestPath;
import agent.contract.endpoint.EndpointConfigurationModel;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointHealthModel;
import agent.contract.endpoint.EndpointLabelsModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.endpoint.EndpointPolicyModel;
import agent.contract.endpoint.EndpointStatusModel;
import agent.contract.ipam.AddressPairModel;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** {@code agentctl endpoint}. */
final class EndpointCommands {
  private static final AddressPairModel NO_ADDRESS =
      new AddressPairModel(null, null, null, null, null, null);

  private EndpointCommands() {}

  static CommandSpec build() {
    return CommandTree.group("endpoint", "Endpoints: the workloads of this node.")
        .addSubcommand(
            "list",
            CommandTree.command("Lists endpoints.", EndpointCommands::list)
                .addOption(CommandTree.labels()))
        .addSubcommand("get", withId("Shows an endpoint.", EndpointCommands::get))
        .addSubcommand("delete", withId("Deletes an endpoint.", EndpointCommands::delete))
        .addSubcommand("log", withId("Shows its state changes.", EndpointCommands::log))
        .addSubcommand("health", withId("Shows its health.", EndpointCommands::health))
        .addSubcommand(
            "labels",
            withId("Shows its labels, or sets the user's.", EndpointCommands::labels)
                .addOption(
                    OptionSpec.builder("--set")
                        .paramLabel("LABEL")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .splitRegex(",")
                        .description("The new user labels.")
                        .build()))
        .addSubcommand(
            "config",
            withId("Shows its options, or sets some.", EndpointCommands::config)
                .addPositional(
                    CommandTree.several(1, "OPTION=VALUE", "For example Debug=Enabled.")));
  }

  private static CommandSpec withId(String description, Command action) {
    return CommandTree.command(description, action)
        .addPositional(CommandTree.required("ID", "[prefix:]id of the endpoint."));
  }

  private static void list(Invocation call) throws IOException {
    final List<String> labels = CommandTree.labelsOf(call);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint").queryEach("labels", labels));
      return;
    }
    final Table table =
        new Table(
            call.out(), "ID", "STATE", "HEALTH", "POLICY", "IDENTITY", "IPV4", "IPV6", "LABELS");
    for (final EndpointModel endpoint : call.agent().endpoints(labels)) {
      final EndpointStatusModel status = endpoint.status();
      final AddressPairModel address = address(status);
      table.row(
          endpoint.id(),
          status.state(),
          status.health() == null ? null : status.health().overallHealth(),
          enforcement(status.policy()),
          status.identity() == null ? null : status.identity().id(),
          address.ipv4(),
          address.ipv6(),
          status.identity() == null ? null : Text.list(status.identity().labels()));
    }
    table.end();
  }

  private static AddressPairModel address(EndpointStatusModel status) {
    final boolean hasAddress =
        status.networking() != null
            && status.networking().addressing() != null
            && !status.networking().addressing().isEmpty();
    return hasAddress ? status.networking().addressing().getFirst() : NO_ADDRESS;
  }

  private static String enforcement(EndpointPolicyModel policy) {
    return policy == null || policy.realized() == null ? null : policy.realized().policyEnabled();
  }

  private static void get(Invocation call) throws IOException {
    final String id = call.argument(0);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint", id));
      return;
    }
    final EndpointModel endpoint = call.agent().endpoint(id);
    final EndpointStatusModel status = endpoint.status();
    final Table table = new Table(call.out(), "FIELD", "VALUE");
    table.row("id", endpoint.id()).row("state", status.state());
    if (status.health() != null) {
      table.row("health", status.health().overallHealth());
    }
    if (status.identity() != null) {
      table.row("identity", status.identity().id());
      table.row("labels", Text.list(status.identity().labels()));
    }
    final AddressPairModel address = address(status);
    table.row("ipv4", address.ipv4()).row("ipv6", address.ipv6());
    if (status.networking() != null) {
      table.row("interface", status.networking().interfaceName());
      table.row("interface-index", status.networking().interfaceIndex());
      table.row("mac", status.networking().mac());
      table.row("host-mac", status.networking().hostMac());
    }
    if (status.policy() != null && status.policy().realized() != null) {
      policy(table, status.policy().realized());
    }
    if (status.realized() != null && status.realized().options() != null) {
      new TreeMap<>(status.realized().options())
          .forEach((name, value) -> table.row("option " + name, value));
    }
    table.end();
  }

  private static void policy(Table table, EndpointPolicyModel.Resolved policy) {
    table.row("policy", policy.policyEnabled()).row("policy-revision", policy.policyRevision());
    table.row("allowed-ingress", Text.list(policy.allowedIngressIdentities()));
    table.row("allowed-egress", Text.list(policy.allowedEgressIdentities()));
    table.row("denied-ingress", Text.list(policy.deniedIngressIdentities()));
    table.row("denied-egress", Text.list(policy.deniedEgressIdentities()));
  }

  private static void delete(Invocation call) throws IOException {
    final String id = call.argument(0);
    if (call.wantsJson()) {
      call.printJson("DELETE", RequestPath.of("endpoint", id), null);
      return;
    }
    final List<String> errors = call.agent().deleteEndpoint(id);
    call.out().println("endpoint " + Text.oneLine(id) + " deleted");
    errors.forEach(error -> call.err().println("Warning: " + Text.oneLine(error)));
  }

  private static void log(Invocation call) throws IOException {
    final String id = call.argument(0);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint", id, "log"));
      return;
    }
    final Table table = new Table(call.out(), "TIME", "CODE", "STATE", "MESSAGE");
    call.agent()
        .endpointLog(id)
        .forEach(e -> table.row(e.timestamp(), e.code(), e.state(), e.message()));
    table.end();
  }

  private static void health(Invocation call) throws IOException {
    final String id = call.argument(0);
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint", id, "healthz"));
      return;
    }
    final EndpointHealthModel health = call.agent().endpointHealth(id);
    new Table(call.out(), "OVERALL", "BPF", "POLICY", "CONNECTED")
        .row(health.overallHealth(), health.bpf(), health.policy(), health.connected())
        .end();
  }

  private static void labels(Invocation call) throws IOException {
    final String id = call.argument(0);
    final List<String> wanted = call.option("--set");
    if (call.wantsJson() && wanted == null) {
      call.printJson(RequestPath.of("endpoint", id, "labels"));
      return;
    }
    final EndpointLabelsModel labels =
        wanted == null
            ? call.agent().endpointLabels(id)
            : call.agent().labelEndpoint(id, wanted.stream().filter(l -> !l.isEmpty()).toList());
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint", id, "labels"));
      return;
    }
    final Table table = new Table(call.out(), "SET", "LABEL");
    rows(table, "user", labels.spec() == null ? null : labels.spec().user());
    if (labels.status() != null) {
      rows(table, "security-relevant", labels.status().securityRelevant());
      rows(table, "derived", labels.status().derived());
      rows(table, "disabled", labels.status().disabled());
    }
    table.end();
  }

  private static void rows(Table table, String set, List<String> labels) {
    if (labels != null) {
      labels.forEach(label -> table.row(set, label));
    }
  }

  private static void config(Invocation call) throws IOException {
    final String id = call.argument(0);
    final Map<String, String> options = new LinkedHashMap<>();
    for (final String assignment : call.arguments(1)) {
      final int equals = assignment.indexOf('=');
      if (equals <= 0) {
        throw new UsageException("'" + assignment + "' is not OPTION=VALUE");
      }
      options.put(assignment.substring(0, equals), assignment.substring(equals + 1));
    }
    if (!options.isEmpty()) {
      call.agent().configureEndpoint(id, new EndpointConfigurationSpecModel(null, options));
    }
    if (call.wantsJson()) {
      call.printJson(RequestPath.of("endpoint", id, "config"));
      return;
    }
    final EndpointConfigurationModel configuration = call.agent().endpointConfiguration(id);
    final Table table = new Table(call.out(), "OPTION", "VALUE");
    new TreeMap<>(configuration.realized().options()).forEach(table::row);
    table.end();
    if (configuration.error() != null) {
      call.err().println("Warning: " + Text.oneLine(configuration.error()));
    }
  }
}
