package agent.policy.resolve;

import agent.maps.layout.PolicyDirection;
import agent.policy.rule.CidrSelector;
import agent.policy.rule.DerivedRule;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.PortTerm;
import agent.policy.rule.Rule;
import agent.policy.rule.Section;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The lines of a resolved policy, each with the labels of the rules that it comes from. */
final class SummaryLines {
  /** The lines of deny rules start with it. */
  static final String DENY = "deny ";

  /** No line. */
  static final SummaryLines NONE = new SummaryLines();

  private final Map<String, List<List<String>>> l4 = new LinkedHashMap<>();
  private final Map<String, List<List<String>>> cidr = new LinkedHashMap<>();

  /** Returns the lines of rules that select the same endpoint, those of allows first. */
  static SummaryLines of(PolicyDirection direction, List<Rule> rules) {
    final SummaryLines lines = new SummaryLines();
    for (final boolean deny : new boolean[] {false, true}) {
      final List<LabelSelector> required = PolicyResolver.required(direction, deny, rules);
      for (final Rule rule : rules) {
        for (final Section section : rule.sections(direction)) {
          if (section.deny() == deny) {
            lines.add(rule, section, required);
          }
        }
      }
    }
    return lines;
  }

  private void add(Rule rule, Section section, List<LabelSelector> required) {
    final String ports =
        section.ports().stream().map(PortTerm::text).collect(Collectors.joining(", "));
    final String start =
        (section.deny() ? DENY : "allow ")
            + ports
            + " "
            + Section.preposition(section.direction())
            + " ";
    final String end =
        required.isEmpty()
            ? ""
            : required.stream()
                .map(LabelSelector::text)
                .collect(Collectors.joining(", ", ", ", ""));
    if (section.everybody()) {
      put(l4, start + "everybody" + end, rule);
      return;
    }
    section.endpoints().forEach(peer -> put(l4, start + peer.text() + end, rule));
    for (final PeerSelector peer : section.outsiders()) {
      put(peer instanceof CidrSelector ? cidr : l4, start + peer.text() + end, rule);
    }
  }

  private static void put(Map<String, List<List<String>>> lines, String line, Rule rule) {
    lines.computeIfAbsent(line, text -> new ArrayList<>()).add(rule.labels().toStrings());
  }

  List<DerivedRule> l4() {
    return list(l4);
  }

  List<DerivedRule> cidr() {
    return list(cidr);
  }

  private static List<DerivedRule> list(Map<String, List<List<String>>> lines) {
    return lines.isEmpty()
        ? List.of()
        : lines.entrySet().stream()
            .map(line -> new DerivedRule(line.getKey(), List.copyOf(line.getValue())))
            .toList();
  }
}
