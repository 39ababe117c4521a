package agent.cli.command;

import agent.cli.call.Action;
import agent.cli.call.Invocation;
import agent.cli.call.LocalParts.RuleFault;
import agent.cli.call.ReportedException;
import agent.cli.call.RequestFile;
import agent.cli.command.PolicyDocuments.PlacedRule;
import agent.cli.grammar.ArgumentSpec;
import agent.cli.grammar.CommandSpec;
import agent.cli.grammar.Suggestion;
import agent.cli.grammar.ValueKind;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Text;
import agent.cli.output.Tree;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code agentctl policy validate}: checks rules as the agent does, without one. */
final class PolicyValidation {
  private static final int MOST_FAULTS = 20;

  private PolicyValidation() {}

  public static CommandSpec<Action> command() {
    return CommandSpec.<Action>command(
            "validate", "Checks rules without an agent.", PolicyValidation::validate)
        .details(
            """
            Each line names the file, the index of the rule, the JSON path, the error and a suggestion. \
            All unknown names of a rule are shown, and its first invalid value. FILE has the form \
            that 'policy import' accepts. Exit code 1 if a rule is invalid.""")
        .argument(
            new ArgumentSpec(
                "FILE",
                "File with the rules, or - for standard input.",
                true,
                true,
                ValueKind.FILE,
                List.of()));
  }

  private static void validate(Invocation call) throws Exception {
    final List<Object> faults = new ArrayList<>();
    for (final String file : call.arguments(0)) {
      final PolicyDocuments documents = PolicyDocuments.read(file, RequestFile.text(call, file));
      documents.warnings().forEach(text -> call.err().println("Warning: " + Text.oneLine(text)));
      final int before = faults.size();
      for (int i = 0; i < documents.rules().size(); i++) {
        check(call, file, i, documents.rules().get(i), faults);
      }
      if (!call.wantsDocument() && faults.size() == before) {
        call.out().println(Text.oneLine(file) + ": " + count(documents.rules().size()) + " valid");
      }
    }
    if (call.wantsDocument()) {
      call.printer().document(faults);
    } else {
      faults.forEach(fault -> call.out().println(line(fault)));
    }
    if (!faults.isEmpty()) {
      throw new ReportedException();
    }
  }

  private static String count(int rules) {
    return rules == 1 ? "1 rule is" : rules + " rules are";
  }

  private static String line(Object fault) {
    final String suggestion = Tree.text(fault, "suggestion");
    return Text.oneLine(
        "%s: rule %s: %s: %s%s"
            .formatted(
                Tree.text(fault, "file"),
                Tree.text(fault, "rule"),
                Tree.text(fault, "path"),
                Tree.text(fault, "reason"),
                suggestion == null ? "" : ": " + suggestion));
  }

  /** A wrong name is taken out and the rest checked, so that several are found at once. */
  private static void check(
      Invocation call, String file, int index, PlacedRule rule, List<Object> faults) {
    final Object value = copy(rule.value());
    for (int i = 0; i < MOST_FAULTS; i++) {
      final RuleFault found = call.local().check(JsonTreeWriter.compact(value));
      if (found == null) {
        warn(call, file, index, rule.place(), JsonTreeWriter.compact(value));
        return;
      }
      final Map<String, Object> fault = new LinkedHashMap<>();
      fault.put("file", file);
      fault.put("rule", index);
      fault.put("path", path(index, rule.place(), found.path()));
      fault.put("reason", found.reason());
      final String suggestion = suggestion(value, found);
      if (!suggestion.isEmpty()) {
        fault.put("suggestion", suggestion);
      }
      faults.add(fault);
      if (!found.isName() || !RulePath.remove(value, found.path())) {
        return;
      }
    }
  }

  private static void warn(Invocation call, String file, int index, String place, String rule) {
    for (final String warning : call.local().warnings(rule)) {
      final String text = path(index, place, warning);
      call.err().println(Text.oneLine("Warning: %s: rule %d: %s".formatted(file, index, text)));
    }
  }

  private static String path(int index, String place, String inside) {
    if (place.isEmpty() && inside.isEmpty()) {
      return "[" + index + "]";
    }
    return place + (place.isEmpty() || inside.isEmpty() ? "" : ".") + inside;
  }

  private static String suggestion(Object rule, RuleFault fault) {
    final String path = fault.path();
    final Object wrong = RulePath.at(rule, path);
    if (!fault.known().isEmpty()) {
      final String word =
          fault.isName() ? path.substring(path.lastIndexOf('.') + 1) : Text.of(wrong);
      final String nearest = Suggestion.nearest(word, fault.known());
      return nearest.isEmpty()
          ? "known are " + String.join(", ", fault.known())
          : "did you mean '" + nearest + "'?";
    }
    return fault.reason().startsWith("a string is expected")
            && !(wrong instanceof String)
            && !(wrong instanceof Map)
            && !(wrong instanceof List)
        ? "write \"" + Text.of(wrong) + "\", in quotes"
        : "";
  }

  private static Object copy(Object value) {
    return switch (value) {
      case Map<?, ?> members -> {
        final Map<String, Object> same = new LinkedHashMap<>();
        members.forEach((name, member) -> same.put(name.toString(), copy(member)));
        yield same;
      }
      case List<?> elements -> {
        final List<Object> same = new ArrayList<>();
        elements.forEach(element -> same.add(copy(element)));
        yield same;
      }
      case null, default -> value;
    };
  }

  /** Steps of a path such as {@code .ingress[0].toPorts}. */
  private static final class RulePath {
    private RulePath() {}

    private static String[] steps(String path) {
      return path.replace("[", ".").replace("]", "").replaceFirst("^\\.", "").split("\\.");
    }

    static Object at(Object root, String path) {
      Object found = root;
      for (final String step : path.isEmpty() ? new String[0] : steps(path)) {
        found =
            found instanceof List<?> elements && isIndexOf(elements, step)
                ? elements.get(Integer.parseInt(step))
                : Tree.at(found, step);
      }
      return found;
    }

    private static boolean isIndexOf(List<?> elements, String step) {
      return step.matches("[0-9]{1,9}") && Integer.parseInt(step) < elements.size();
    }

    static boolean remove(Object root, String path) {
      final int lastDot = path.lastIndexOf('.');
      return at(root, path.substring(0, Math.max(0, lastDot))) instanceof Map<?, ?> holder
          && holder.keySet().remove(path.substring(lastDot + 1));
    }
  }
}
