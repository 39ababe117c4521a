package agent.policy.read;

import agent.identity.Label;
import agent.identity.LabelSet;
import agent.maps.layout.PolicyDirection;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.Rule;
import agent.policy.rule.Section;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.RuleSpec.DefaultDenySpec;
import agent.policy.spec.RuleSpec.LabelSpec;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Checks rules as they are written; every refusal names the index of the rule and the path in it.
 */
public final class RuleReader {
  private RuleReader() {}

  /** Checks rules; a refusal names the index of the rule. */
  public static List<Rule> read(List<RuleSpec> specs) {
    final List<Rule> rules = new ArrayList<>(specs.size());
    for (int i = 0; i < specs.size(); i++) {
      rules.add(read(i, specs.get(i)));
    }
    return rules;
  }

  /** Checks one rule, whose index a refusal names. */
  public static Rule read(int index, RuleSpec spec) {
    final String path = "[" + index + "]";
    return rule(path, present(path, spec));
  }

  private static Rule rule(String path, RuleSpec spec) {
    final LabelSelector subject =
        SelectorReader.read(
            path + ".endpointSelector",
            present(path + ".endpointSelector", spec.endpointSelector()));
    final List<Section> sections = new ArrayList<>();
    final Set<PolicyDirection> present = EnumSet.noneOf(PolicyDirection.class);
    read(path + ".ingress", spec.ingress(), PolicyDirection.INGRESS, false, sections, present);
    read(path + ".egress", spec.egress(), PolicyDirection.EGRESS, false, sections, present);
    read(
        path + ".ingressDeny",
        spec.ingressDeny(),
        PolicyDirection.INGRESS,
        true,
        sections,
        present);
    read(path + ".egressDeny", spec.egressDeny(), PolicyDirection.EGRESS, true, sections, present);
    final Set<PolicyDirection> enforced = enforced(spec.enableDefaultDeny(), present);
    if (present.isEmpty() && enforced.isEmpty()) {
      throw Refusal.invalid(
          path, "the rule has none of ingress, egress, ingressDeny and egressDeny");
    }
    return new Rule(
        spec, labels(path + ".labels", spec.labels()), subject, enforced, List.copyOf(sections));
  }

  private static Set<PolicyDirection> enforced(DefaultDenySpec spec, Set<PolicyDirection> present) {
    final Set<PolicyDirection> enforced = EnumSet.copyOf(present);
    if (spec != null) {
      set(enforced, PolicyDirection.INGRESS, spec.ingress());
      set(enforced, PolicyDirection.EGRESS, spec.egress());
    }
    return enforced;
  }

  private static void set(
      Set<PolicyDirection> enforced, PolicyDirection direction, Boolean isEnforced) {
    if (Boolean.TRUE.equals(isEnforced)) {
      enforced.add(direction);
    } else if (isEnforced != null) {
      enforced.remove(direction);
    }
  }

  private static void read(
      String path,
      List<PeerRuleSpec> elements,
      PolicyDirection direction,
      boolean deny,
      List<Section> sections,
      Set<PolicyDirection> present) {
    if (elements == null) {
      return;
    }
    present.add(direction);
    for (int i = 0; i < elements.size(); i++) {
      final String element = path + "[" + i + "]";
      sections.add(
          new SectionReader(element, direction, deny).read(present(element, elements.get(i))));
    }
  }

  private static LabelSet labels(String path, List<LabelSpec> specs) {
    final List<Label> labels = new ArrayList<>();
    for (int i = 0; specs != null && i < specs.size(); i++) {
      final String element = path + "[" + i + "]";
      final LabelSpec spec = present(element, specs.get(i));
      try {
        labels.add(
            new Label(
                spec.source() == null || spec.source().isEmpty()
                    ? Label.UNSPECIFIED
                    : spec.source(),
                present(element + ".key", spec.key()),
                Objects.requireNonNullElse(spec.value(), "")));
      } catch (Refusal refusal) {
        throw refusal.field().isEmpty() ? refusal.at(element) : refusal;
      }
    }
    try {
      return LabelSet.of(labels);
    } catch (Refusal refusal) {
      throw refusal.at(path);
    }
  }

  /** Returns the value, which must not be null. */
  public static <T> T present(String path, T value) {
    if (value == null) {
      throw Refusal.invalid(path, "is missing");
    }
    return value;
  }
}
