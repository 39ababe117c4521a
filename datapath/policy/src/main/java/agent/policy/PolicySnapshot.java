package agent.policy;

import agent.policy.spec.RuleSpec;
import java.util.List;

/**
 * Rules at a revision.
 *
 * @param revision the revision
 * @param rules the rules in the order in which they were added
 */
public record PolicySnapshot(long revision, List<RuleSpec> rules) {}
