package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Health of an endpoint: OK, Bootstrap, Pending, Warning, Failure or Disabled.
 *
 * @param bpf health of the programs
 * @param connected whether the endpoint is reachable
 * @param overallHealth the worst of the parts
 * @param policy health of the policy
 */
public record EndpointHealthModel(
    @JsonProperty("bpf") String bpf,
    @JsonProperty("connected") Boolean connected,
    @JsonProperty("overallHealth") String overallHealth,
    @JsonProperty("policy") String policy) {}
