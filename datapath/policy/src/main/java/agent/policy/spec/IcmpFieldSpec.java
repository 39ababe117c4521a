package agent.policy.spec;

/**
 * One of {@code icmps[].fields}.
 *
 * @param family {@code IPv4} or {@code IPv6}; null for {@code IPv4}
 * @param type the message type, 0 to 255
 */
public record IcmpFieldSpec(String family, Integer type) {}
