package agent.policy;

import agent.datapath.manager.spec.PolicyDelta;

/**
 * The change of one endpoint's policy.
 *
 * @param endpointId the endpoint
 * @param policy its policy from now on
 * @param diff the change of its policy map; empty where only the summary is new
 */
public record EndpointPolicyChange(int endpointId, ResolvedPolicy policy, PolicyDelta diff) {}
