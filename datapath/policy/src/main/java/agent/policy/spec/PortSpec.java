package agent.policy.spec;

/**
 * One of {@code toPorts[].ports}.
 *
 * @param port a number; {@code 0} is every port of the protocol
 * @param endPort the last port of a range, null for one port
 * @param protocol {@code TCP}, {@code UDP}, {@code SCTP} or {@code ANY}; null for {@code ANY}
 */
public record PortSpec(String port, Integer endPort, String protocol) {}
