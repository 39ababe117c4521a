package agent.policy.repository;

import agent.policy.spec.RuleSpec;
import java.util.List;

/**
 * Rules at a revision.
 *
 * @param revision the revision
 * @param rules the rules in the order in which they were added
 * @param characters how many characters all their texts have, as a measure of their size
 */
public record PolicySnapshot(long revision, List<RuleSpec> rules, long characters) {}
