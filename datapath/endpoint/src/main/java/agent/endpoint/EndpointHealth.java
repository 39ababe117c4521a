package agent.endpoint;

/**
 * The health of one endpoint.
 *
 * @param bpf of its programs
 * @param policy of its policy
 * @param overall the worse of the two
 * @param connected whether it is reachable: programs attached and its interface there
 */
public record EndpointHealth(
    HealthLevel bpf, HealthLevel policy, HealthLevel overall, boolean connected) {}
