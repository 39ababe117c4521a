package agent.policy.spec;

import java.util.List;

/**
 * One of {@code toPorts}.
 *
 * @param ports the ports
 * @param unserved names of fields that are present and that this agent does not serve ({@code
 *     rules}); such a rule is refused. Null for none
 */
public record PortRuleSpec(List<PortSpec> ports, List<String> unserved) {}
