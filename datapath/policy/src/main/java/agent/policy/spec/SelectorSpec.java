package agent.policy.spec;

import java.util.List;
import java.util.Map;

/**
 * A selector by labels. Null parts and empty parts are the same; a selector of nothing but such
 * selects all.
 *
 * @param matchLabels {@code [source:]key} to value
 * @param matchExpressions further requirements
 */
public record SelectorSpec(Map<String, String> matchLabels, List<ExpressionSpec> matchExpressions) {
  /** The selector {@code {}}. */
  public static final SelectorSpec ALL = new SelectorSpec(null, null);

  /**
   * One of {@code matchExpressions}.
   *
   * @param key {@code [source:]key}
   * @param operator {@code In}, {@code NotIn}, {@code Exists} or {@code DoesNotExist}
   * @param values the values of {@code In} and {@code NotIn}; null for none
   */
  public record ExpressionSpec(String key, String operator, List<String> values) {}
}
