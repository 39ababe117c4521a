package agent.policy.repository;

import agent.identity.LabelPattern;
import agent.policy.rule.Rule;
import java.util.List;

/**
 * Which rules a document replaces besides adding its own.
 *
 * @param sameLabels whether it replaces every rule whose labels, at least one, are exactly those of
 *     a rule of the document
 * @param labels it replaces every rule that has all of these; empty for none
 */
public record Replacement(boolean sameLabels, List<LabelPattern> labels) {
  /**
   * Reads a replacement.
   *
   * @param sameLabels whether rules with exactly the labels of a new one are replaced
   * @param labels {@code [source:]key[=value]}, without a source any; empty for none
   * @return the replacement
   * @throws agent.types.Refusal INVALID for a label
   */
  public static Replacement of(boolean sameLabels, List<String> labels) {
    return new Replacement(sameLabels, LabelPattern.parseAll("replace-with-labels", labels));
  }

  /** Returns whether a rule that is held has the labels. */
  boolean isByLabels(Rule rule) {
    return !labels.isEmpty() && labels.stream().allMatch(label -> label.isMetBy(rule.labels()));
  }
}
