package agent.policy.spec;

import java.util.List;

/**
 * One of {@code icmps}.
 *
 * @param fields the message types
 */
public record IcmpRuleSpec(List<IcmpFieldSpec> fields) {}
