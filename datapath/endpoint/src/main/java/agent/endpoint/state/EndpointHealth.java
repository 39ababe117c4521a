package agent.endpoint.state;

/**
 * The health of one endpoint.
 *
 * @param bpf health of its programs
 * @param policy health of its policy
 * @param overall the worse of the two
 * @param connected whether its programs are attached and its interface exists
 */
public record EndpointHealth(
    HealthLevel bpf, HealthLevel policy, HealthLevel overall, boolean connected) {}
