package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Listing;
import agent.cli.output.Rows;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** {@code agentctl endpoint}: lists and single endpoints. */
public final class EndpointCommands {
  static final String CONTAINER = "--container-id";

  private static final String SET = "--set";

  private EndpointCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists endpoints.", EndpointCommands::list)
                .operation("GET /endpoint")
                .option(CommonOptions.labels())
                .example("agentctl endpoint list -l app=web -w", "follow the web endpoints")),
        CommonOptions.watched(
            withId("get", "Shows an endpoint.", EndpointCommands::get)
                .operation("GET /endpoint/{id}")),
        EndpointChanges.create(),
        EndpointChanges.update(),
        EndpointChanges.delete(),
        EndpointLogCommand.command(),
        CommonOptions.watched(
            withId("health", "Shows the health of an endpoint.", EndpointCommands::health)
                .operation("GET /endpoint/{id}/healthz")),
        withId(
                "labels",
                "Shows the labels of an endpoint, or sets its user labels.",
                EndpointCommands::labels)
            .operation("GET, PATCH /endpoint/{id}/labels")
            .option(
                OptionSpec.value(SET, "LABEL", ValueKind.LABEL, "The new user labels.").repeated()),
        withId(
                "config",
                "Shows the options of an endpoint, or sets some.",
                EndpointCommands::config)
            .operation("GET, PATCH /endpoint/{id}/config")
            .argument(
                ArgumentSpec.several(
                    "OPTION=VALUE", ValueKind.ENDPOINT_OPTION, "For example Debug=Enabled.")));
  }

  static CommandSpec<Action> withId(String name, String summary, Action action) {
    return CommandSpec.command(name, summary, action)
        .argument(ArgumentSpec.required("ID", ValueKind.ENDPOINT, "[prefix:]id of the endpoint."));
  }

  private static void list(Invocation call) throws IOException {
    call.list(
        RequestPath.of("endpoint").queryEach("labels", call.options(CommonOptions.LABELS)),
        new Listing("")
            .column("ID", "id")
            .column("NAME", EndpointCommands::name)
            .column("STATE", "status", "state")
            .column("HEALTH", "status", "health", "overallHealth")
            .column("POLICY", "status", "policy", "realized", "policy-enabled")
            .column("IDENTITY", "status", "identity", "id")
            .column("IPV4", endpoint -> address(endpoint, "ipv4"))
            .column("IPV6", endpoint -> address(endpoint, "ipv6"))
            .column("AGE", endpoint -> Text.age(lastChange(endpoint), call.now()))
            .column("LABELS", "status", "identity", "labels"));
  }

  /** The pod with its namespace, else the container's name, else the start of its id. */
  public static Object name(Object endpoint) {
    final Object names = Tree.at(endpoint, "status", "external-identifiers");
    for (final String kind : List.of("pod-name", "k8s-pod-name", "container-name")) {
      final String name = Tree.text(names, kind);
      if (name != null && !name.isEmpty()) {
        return name;
      }
    }
    final String id = Tree.text(names, "container-id");
    return id == null ? null : id.substring(0, Math.min(12, id.length()));
  }

  public static Object address(Object endpoint, String family) {
    final List<?> addresses = Tree.list(endpoint, "status", "networking", "addressing");
    return addresses.isEmpty() ? null : Tree.at(addresses.getFirst(), family);
  }

  /** The time since when it has its state. */
  private static Object lastChange(Object endpoint) {
    final List<?> log = Tree.list(endpoint, "status", "log");
    return log.isEmpty() ? null : Tree.at(log.getLast(), "timestamp");
  }

  private static void get(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0));
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object endpoint = call.tree(path);
    final Object status = Tree.at(endpoint, "status");
    final Rows rows = call.rows("FIELD", "VALUE");
    rows.row("id", Tree.at(endpoint, "id")).row("name", name(endpoint));
    rows.row("state", Tree.at(status, "state"));
    row(rows, "health", Tree.at(status, "health", "overallHealth"));
    row(rows, "identity", Tree.at(status, "identity", "id"));
    row(rows, "labels", Tree.at(status, "identity", "labels"));
    rows.row("ipv4", address(endpoint, "ipv4")).row("ipv6", address(endpoint, "ipv6"));
    for (final String name : List.of("interface-name", "interface-index", "mac", "host-mac")) {
      row(rows, name, Tree.at(status, "networking", name));
    }
    policy(rows, Tree.members(status, "policy", "realized"));
    proxies(rows, Tree.members(status, "policy"));
    new TreeMap<>(Tree.members(status, "realized", "options"))
        .forEach((name, value) -> rows.row("option " + name, value));
    rows.end();
  }

  private static void row(Rows rows, String name, Object value) {
    if (value != null) {
      rows.row(name, value);
    }
  }

  private static void policy(Rows rows, Map<String, Object> policy) {
    row(rows, "policy", policy.get("policy-enabled"));
    row(rows, "policy-revision", policy.get("policy-revision"));
    for (final String list :
        List.of("allowed-ingress", "allowed-egress", "denied-ingress", "denied-egress")) {
      row(rows, list, peers(policy.get(list + "-any"), policy.get(list + "-identities")));
    }
  }

  /** One row for each redirect, where the endpoint has one. */
  private static void proxies(Rows rows, Map<String, Object> policy) {
    final List<?> redirects = Tree.list(policy, "proxy-statistics");
    if (redirects.isEmpty()) {
      return;
    }
    row(rows, "proxy-revision", policy.get("proxy-policy-revision"));
    for (final Object redirect : redirects) {
      rows.row(
          "%s %s %s"
              .formatted(
                  Tree.at(redirect, "location"),
                  Tree.at(redirect, "protocol"),
                  Tree.at(redirect, "port")),
          messages(redirect, "requests") + ", " + messages(redirect, "responses"));
    }
  }

  private static String messages(Object redirect, String which) {
    final StringBuilder text = new StringBuilder(which);
    for (final String outcome : List.of("received", "forwarded", "denied", "error")) {
      text.append(' ').append(Tree.at(redirect, "statistics", which, outcome));
      text.append(' ').append(outcome);
    }
    return text.toString();
  }

  /** The identities, after "any" where the policy names every one. */
  private static Object peers(Object any, Object identities) {
    if (!Boolean.TRUE.equals(any)) {
      return identities;
    }
    final List<Object> peers = new ArrayList<>(List.of("any"));
    if (identities instanceof List<?> list) {
      peers.addAll(list);
    }
    return peers;
  }

  private static void health(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0), "healthz");
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object health = call.tree(path);
    call.rows("OVERALL", "BPF", "POLICY", "CONNECTED")
        .row(
            Tree.at(health, "overallHealth"),
            Tree.at(health, "bpf"),
            Tree.at(health, "policy"),
            Tree.at(health, "connected"))
        .end();
  }

  private static void labels(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0), "labels");
    final Object changed =
        call.isSet(SET) ? call.send("PATCH", path, Map.of("user", call.options(SET))) : null;
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object labels = changed == null ? call.tree(path) : changed;
    final Rows rows = call.rows("SET", "LABEL");
    Tree.list(labels, "spec", "user").forEach(label -> rows.row("user", label));
    for (final String set : List.of("security-relevant", "derived", "disabled")) {
      Tree.list(labels, "status", set).forEach(label -> rows.row(set, label));
    }
    rows.end();
  }

  private static void config(Invocation call) throws IOException {
    final RequestPath path = RequestPath.of("endpoint", call.argument(0), "config");
    final Map<String, Object> options = assignments(call.arguments(1));
    if (!options.isEmpty()) {
      call.send("PATCH", path, Map.of("options", options));
    }
    if (call.wantsDocument()) {
      call.document(path);
      return;
    }
    final Object configuration = call.tree(path);
    final Rows rows = call.rows("OPTION", "VALUE");
    new TreeMap<>(Tree.members(configuration, "realized", "options")).forEach(rows::row);
    rows.end();
    final String error = Tree.text(configuration, "error");
    if (error != null) {
      call.err().println("Warning: " + Text.oneLine(error));
    }
  }

  /** Returns the options of {@code OPTION=VALUE} words. */
  static Map<String, Object> assignments(List<String> words) {
    final Map<String, Object> options = new TreeMap<>();
    for (final String assignment : words) {
      final int equals = assignment.indexOf('=');
      if (equals <= 0) {
        throw new UsageException("'" + assignment + "' is not OPTION=VALUE");
      }
      options.put(assignment.substring(0, equals), assignment.substring(equals + 1));
    }
    return options;
  }
}
