package agent.policy.spec;

/**
 * A label of a rule.
 *
 * @param key the key
 * @param value the value; null for none
 * @param source the source; null for {@code unspec}
 */
public record LabelSpec(String key, String value, String source) {}
