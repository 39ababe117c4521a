package agent.policy.read;

import agent.identity.LabelPattern;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.Requirement;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Checks selectors by labels. */
final class SelectorReader {
  private SelectorReader() {}

  static LabelSelector read(String path, SelectorSpec spec) {
    final List<Requirement> requirements = new ArrayList<>();
    if (spec.matchLabels() != null) {
      for (final Map.Entry<String, String> label : spec.matchLabels().entrySet()) {
        final String field = path + ".matchLabels." + label.getKey();
        final String value = RuleReader.present(field, label.getValue());
        requirements.add(
            requirement(field, label.getKey(), Requirement.Operator.IN, List.of(value)));
      }
    }
    final List<ExpressionSpec> expressions = spec.matchExpressions();
    for (int i = 0; expressions != null && i < expressions.size(); i++) {
      final String field = path + ".matchExpressions[" + i + "]";
      requirements.add(expression(field, RuleReader.present(field, expressions.get(i))));
    }
    return new LabelSelector(requirements);
  }

  static List<LabelSelector> readAll(String path, List<SelectorSpec> specs) {
    final List<LabelSelector> selectors = new ArrayList<>();
    for (int i = 0; specs != null && i < specs.size(); i++) {
      final String field = path + "[" + i + "]";
      selectors.add(read(field, RuleReader.present(field, specs.get(i))));
    }
    return selectors;
  }

  private static Requirement expression(String path, ExpressionSpec spec) {
    final Requirement.Operator operator =
        operator(path + ".operator", RuleReader.present(path + ".operator", spec.operator()));
    final List<String> values = spec.values() == null ? List.of() : spec.values();
    final boolean wantsValues =
        operator == Requirement.Operator.IN || operator == Requirement.Operator.NOT_IN;
    if (wantsValues == values.isEmpty()) {
      throw Refusal.invalid(
          path + ".values",
          operator.text()
              + (wantsValues ? " requires at least one value" : " does not accept values"));
    }
    for (int i = 0; i < values.size(); i++) {
      RuleReader.present(path + ".values[" + i + "]", values.get(i));
    }
    return requirement(
        path + ".key", RuleReader.present(path + ".key", spec.key()), operator, values);
  }

  private static Requirement.Operator operator(String path, String text) {
    for (final Requirement.Operator operator : Requirement.Operator.values()) {
      if (operator.text().equals(text)) {
        return operator;
      }
    }
    throw Refusal.invalid(path, "'" + text + "' is not one of In, NotIn, Exists, DoesNotExist");
  }

  private static Requirement requirement(
      String path, String name, Requirement.Operator operator, List<String> values) {
    return new Requirement(LabelPattern.of(path, name, values), operator);
  }
}
