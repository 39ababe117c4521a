package agent.policy.rule;

import agent.identity.LabelSet;
import agent.maps.layout.PolicyDirection;
import agent.policy.spec.RuleSpec;
import agent.types.EntrySource;
import agent.types.Prefix;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A checked rule. Two rules are equal where one source says the same: the same labels and the same
 * content after the check, whatever the order and the spelling of the labels.
 */
public final class Rule {
  private final RuleSpec spec;
  private final LabelSet labels;
  private final LabelSelector subject;
  private final Set<PolicyDirection> enforced;
  private final List<Section> sections;
  private final Map<PolicyDirection, List<Section>> byDirection =
      new EnumMap<>(PolicyDirection.class);
  private final List<PeerSelector> selectors;
  private final List<Prefix> prefixes;
  private final RuleCount count;
  private final int hash;

  /**
   * Creates a rule.
   *
   * @param spec the rule as it was written
   * @param labels the labels of the rule
   * @param subject the endpoints that it is for
   * @param enforced the directions in which it turns enforcement on
   * @param sections its elements
   */
  public Rule(
      RuleSpec spec,
      LabelSet labels,
      LabelSelector subject,
      Set<PolicyDirection> enforced,
      List<Section> sections) {
    this.spec = spec;
    this.labels = labels;
    this.subject = subject;
    this.enforced = enforced;
    this.sections = sections;
    for (final PolicyDirection direction : PolicyDirection.values()) {
      byDirection.put(
          direction,
          sections.stream().filter(section -> section.direction() == direction).toList());
    }
    selectors =
        sections.stream().flatMap(section -> section.selectors().stream()).distinct().toList();
    prefixes =
        selectors.stream()
            .filter(CidrSelector.class::isInstance)
            .flatMap(selector -> ((CidrSelector) selector).prefixes().stream())
            .distinct()
            .toList();
    count = RuleCount.of(spec);
    hash = Objects.hash(labels, subject, enforced, sections, spec.description(), spec.source());
  }

  /** Returns the rule as it was received. */
  public RuleSpec spec() {
    return spec;
  }

  /** Returns who alone replaces and deletes it. */
  public EntrySource source() {
    return spec.source();
  }

  /** Returns the labels of the rule. */
  public LabelSet labels() {
    return labels;
  }

  /** Returns the selector of the endpoints that the rule is for. */
  public LabelSelector subject() {
    return subject;
  }

  /** Returns the directions in which the rule turns enforcement on. */
  public Set<PolicyDirection> enforced() {
    return enforced;
  }

  /** Returns what it counts of the limits. */
  public RuleCount count() {
    return count;
  }

  /** Returns the elements for a direction. */
  public List<Section> sections(PolicyDirection direction) {
    return byDirection.get(direction);
  }

  /** Returns every selector once. */
  public List<PeerSelector> selectors() {
    return selectors;
  }

  /** Returns the prefixes that need an identity, each once. */
  public List<Prefix> prefixes() {
    return prefixes;
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof Rule that
            && hash == that.hash
            && labels.equals(that.labels)
            && subject.equals(that.subject)
            && enforced.equals(that.enforced)
            && sections.equals(that.sections)
            && source().equals(that.source())
            && Objects.equals(spec.description(), that.spec.description());
  }

  @Override
  public int hashCode() {
    return hash;
  }
}
