package agent.policy.rule;

import java.util.List;

/**
 * One line of a resolved policy and the rules that it is derived from.
 *
 * @param rule what is allowed or denied, readable
 * @param derivedFrom for each rule of the repository that made it, that rule's labels
 */
public record DerivedRule(String rule, List<List<String>> derivedFrom) {}
