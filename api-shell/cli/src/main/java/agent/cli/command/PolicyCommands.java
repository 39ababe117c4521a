package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.call.RequestFile;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.OptionSpec;
import agent.cli.grammar.UsageException;
import agent.cli.grammar.ValueKind;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Listing;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import agent.client.RequestPath;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/** {@code agentctl policy}: rules and selectors. */
public final class PolicyCommands {
  private static final String ALL = "--all";
  private static final String REPLACE = "--replace";
  private static final String REPLACE_WITH_LABELS = "--replace-with-labels";

  private PolicyCommands() {}

  public static List<CommandSpec<Action>> build() {
    return List.of(
        CommandSpec.<Action>command("get", "Shows rules as a document.", PolicyCommands::get)
            .operation("GET /policy")
            .details(
                """
                The document is what 'policy import' takes, but for rules that have a source: JSON, or \
                YAML with -o yaml. The revision goes to standard error.""")
            .argument(labels())
            .example("agentctl policy get > rules.json", "save the rules to a file"),
        CommonOptions.watched(
            CommandSpec.<Action>command("list", "Lists rules in a table.", PolicyCommands::list)
                .operation("GET /policy")
                .argument(labels())),
        importCommand(),
        CommandSpec.<Action>command("delete", "Deletes rules.", PolicyCommands::delete)
            .operation("DELETE /policy")
            .argument(labels())
            .option(OptionSpec.flag(ALL, "Delete all rules of the API.")),
        CommonOptions.watched(
            CommandSpec.<Action>command(
                    "selectors",
                    "Lists selectors and the identities that they select.",
                    PolicyCommands::selectors)
                .operation("GET /policy/selectors")),
        PolicyQuestions.resolve(),
        PolicyQuestions.trace(),
        PolicyValidation.command());
  }

  private static ArgumentSpec labels() {
    return ArgumentSpec.several("LABEL", ValueKind.RULE_LABEL, "Only rules with these labels.");
  }

  private static CommandSpec<Action> importCommand() {
    return CommandSpec.<Action>command(
            "import", "Adds or replaces rules.", PolicyCommands::importRules)
        .operation("PUT /policy")
        .details(
            """
            FILE holds an array of rules, one rule, or documents with apiVersion, kind, metadata and \
            spec or specs, as JSON or YAML. A rule of such a document gets labels from its metadata.

            A rule that equals a stored rule is not added again. All rules of a call take effect \
            together, or none does.""")
        .argument(
            ArgumentSpec.required(
                "FILE", ValueKind.FILE, "File with the rules, or - for standard input."))
        .option(
            OptionSpec.flag(REPLACE, "Replace every rule with the same labels as a rule in FILE."))
        .option(
            OptionSpec.value(
                    REPLACE_WITH_LABELS,
                    "LABEL",
                    ValueKind.RULE_LABEL,
                    "Replace every rule that has these labels.")
                .repeated());
  }

  private static RequestPath path(Invocation call) {
    return RequestPath.of("policy").queryEach("labels", call.arguments(0));
  }

  /** The rules stand in the answer as JSON text. */
  public static Object rules(Object answer) {
    final String text = Tree.text(answer, "policy");
    return text == null
        ? List.of()
        : AnswerPrinter.tree(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static void get(Invocation call) throws IOException {
    final Object answer = call.tree(path(call));
    call.printer().document(rules(answer));
    if (!call.wantsDocument()) {
      call.out().flush();
      call.err().println("Revision: " + Text.oneLine(Tree.text(answer, "revision")));
    }
  }

  private static void list(Invocation call) throws IOException {
    call.printer()
        .list(
            rules(call.tree(path(call))),
            new Listing("")
                .column("LABELS", rule -> labelTexts(rule))
                .column("ENDPOINTS", rule -> selector(Tree.at(rule, "endpointSelector")))
                .column("INGRESS", rule -> count(rule, "ingress"))
                .column("EGRESS", rule -> count(rule, "egress"))
                .column("INGRESS-DENY", rule -> count(rule, "ingressDeny"))
                .column("EGRESS-DENY", rule -> count(rule, "egressDeny"))
                .column(
                    "SOURCE", rule -> Objects.requireNonNullElse(Tree.text(rule, "source"), "api"))
                .column("DESCRIPTION", "description"));
  }

  private static Object count(Object rule, String direction) {
    return Tree.at(rule, direction) instanceof List<?> elements ? elements.size() : null;
  }

  private static String selector(Object selector) {
    final Map<String, Object> labels = Tree.members(selector, "matchLabels");
    final List<?> expressions = Tree.list(selector, "matchExpressions");
    if (labels.isEmpty() && expressions.isEmpty()) {
      return "all";
    }
    final String rest = expressions.isEmpty() ? "" : JsonTreeWriter.compact(expressions);
    return labels.isEmpty() ? rest : (Text.of(labels) + " " + rest).strip();
  }

  private static Object labelTexts(Object holder) {
    return Tree.list(holder, "labels").stream()
        .map(PolicyCommands::label)
        .collect(Collectors.toList());
  }

  public static String label(Object label) {
    final String source = Tree.text(label, "source");
    final String value = Tree.text(label, "value");
    return (source == null || source.isEmpty() ? "" : source + ":")
        + Tree.text(label, "key")
        + (value == null || value.isEmpty() ? "" : "=" + value);
  }

  private static void importRules(Invocation call) throws IOException {
    final String file = call.argument(0);
    final PolicyDocuments documents = PolicyDocuments.read(file, RequestFile.text(call, file));
    documents.warnings().forEach(text -> call.err().println("Warning: " + Text.oneLine(text)));
    final RequestPath path = RequestPath.of("policy");
    if (call.isSet(REPLACE)) {
      path.query("replace", "true");
    }
    path.queryEach("replace-with-labels", call.options(REPLACE_WITH_LABELS));
    final Object body =
        documents.rules().stream()
            .map(PolicyDocuments.PlacedRule::value)
            .collect(Collectors.toList());
    show(call, call.send("PUT", path, body));
  }

  private static void show(Invocation call, Object answer) throws IOException {
    if (call.wantsDocument()) {
      call.printer().document(answer);
    } else {
      call.out().println("Revision: " + Text.oneLine(Tree.text(answer, "revision")));
    }
  }

  private static void delete(Invocation call) throws IOException {
    if (call.arguments(0).isEmpty() != call.isSet(ALL)) {
      throw new UsageException("either labels or " + ALL + " is required");
    }
    show(call, call.send("DELETE", path(call), null));
  }

  private static void selectors(Invocation call) throws IOException {
    call.list(
        RequestPath.of("policy", "selectors"),
        new Listing("")
            .column("SELECTOR", "selector")
            .column("USERS", "users")
            .column("IDENTITIES", "identities")
            .column("LABELS", PolicyCommands::labelTexts));
  }
}
