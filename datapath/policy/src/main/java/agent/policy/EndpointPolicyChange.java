package agent.policy;

/**
 * What a change means for one endpoint.
 *
 * @param endpointId the endpoint
 * @param policy its policy now
 * @param diff what to write into its policy map; may be empty where only the summary is new
 */
public record EndpointPolicyChange(int endpointId, ResolvedPolicy policy, PolicyMapDiff diff) {}
