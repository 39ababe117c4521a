package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.Invocation;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** {@code agentctl policy resolve} and {@code trace}: what the policy says about a connection. */
final class PolicyQuestions {
  private static final String FROM = "--from";
  private static final String TO = "--to";
  private static final String FROM_ENDPOINT = "--from-endpoint";
  private static final String TO_ENDPOINT = "--to-endpoint";
  private static final String PORT = "--port";
  private static final int HIGHEST_PORT = 65535;

  private PolicyQuestions() {}

  static CommandSpec<Action> resolve() {
    return withPeers(
        CommandSpec.command(
            "resolve", "Checks whether a connection is allowed.", call -> ask(call, false)));
  }

  static CommandSpec<Action> trace() {
    return withPeers(
        CommandSpec.command(
            "trace",
            "Checks whether a connection is allowed, and shows the rules that decide.",
            call -> ask(call, true)));
  }

  private static CommandSpec<Action> withPeers(CommandSpec<Action> command) {
    return command
        .operation("GET /policy/resolve")
        .option(
            OptionSpec.value(FROM, "LABEL", ValueKind.LABEL, "Labels of the source.").repeated())
        .option(
            OptionSpec.value(TO, "LABEL", ValueKind.LABEL, "Labels of the destination.").repeated())
        .option(
            OptionSpec.value(
                FROM_ENDPOINT, "ID", ValueKind.ENDPOINT, "Use the labels of this endpoint."))
        .option(
            OptionSpec.value(
                TO_ENDPOINT, "ID", ValueKind.ENDPOINT, "Use the labels of this endpoint."))
        .option(
            OptionSpec.text(PORT, "PORT[/PROTOCOL]", "Destination port, a number or a name.")
                .withLetter("-p")
                .repeated())
        .example(
            "agentctl policy " + command.name() + " --from app=web --to app=db --port 5432/TCP",
            "check whether web may reach the database");
  }

  private static void ask(Invocation call, boolean isVerbose) throws IOException {
    final Map<String, Object> to = new LinkedHashMap<>();
    to.put("labels", labels(call, TO, TO_ENDPOINT));
    final List<Object> ports = new ArrayList<>();
    call.options(PORT).forEach(port -> ports.add(port(port)));
    if (!ports.isEmpty()) {
      to.put("dports", ports);
    }
    final Map<String, Object> body = new LinkedHashMap<>();
    body.put("from", Map.of("labels", labels(call, FROM, FROM_ENDPOINT)));
    body.put("to", to);
    body.put("verbose", isVerbose);
    final Object answer = call.send("GET", RequestPath.of("policy", "resolve"), body);
    if (call.wantsDocument()) {
      call.printer().document(answer);
      return;
    }
    if (isVerbose) {
      log(answer).forEach(line -> call.out().println(Text.oneLine(line)));
    }
    call.rows("VERDICT").row(Tree.at(answer, "verdict")).end();
  }

  /** The log is a text with a line a rule, or an array of lines. */
  private static List<String> log(Object answer) {
    return Tree.at(answer, "log") instanceof String text
        ? text.lines().toList()
        : Tree.list(answer, "log").stream().map(Object::toString).toList();
  }

  private static List<?> labels(Invocation call, String option, String endpointOption)
      throws IOException {
    final List<Object> labels = new ArrayList<>(call.options(option));
    if (call.isSet(endpointOption)) {
      final RequestPath path = RequestPath.of("endpoint", call.option(endpointOption));
      labels.addAll(Tree.list(call.tree(path), "status", "identity", "labels"));
    }
    if (labels.isEmpty()) {
      throw new UsageException(option + " or " + endpointOption + " is required");
    }
    return labels;
  }

  private static Map<String, Object> port(String text) {
    final int slash = text.indexOf('/');
    final String port = slash < 0 ? text : text.substring(0, slash);
    final Map<String, Object> record = new LinkedHashMap<>();
    if (port.matches("[0-9]+")) {
      if (port.length() > 5 || Integer.parseInt(port) > HIGHEST_PORT) {
        throw new UsageException(PORT + ": '" + text + "' is not a port");
      }
      record.put("port", Integer.parseInt(port));
    } else {
      record.put("name", port);
    }
    if (slash >= 0) {
      record.put("protocol", text.substring(slash + 1).toUpperCase(Locale.ROOT));
    }
    return record;
  }
}
