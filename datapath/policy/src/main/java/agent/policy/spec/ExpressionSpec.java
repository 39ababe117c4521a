package agent.policy.spec;

import java.util.List;

/**
 * One of {@code matchExpressions}.
 *
 * @param key {@code [source:]key}
 * @param operator {@code In}, {@code NotIn}, {@code Exists} or {@code DoesNotExist}
 * @param values the values of {@code In} and {@code NotIn}; null for none
 */
public record ExpressionSpec(String key, String operator, List<String> values) {}
