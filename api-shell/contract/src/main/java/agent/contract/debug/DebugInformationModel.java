package agent.contract.debug;

import agent.contract.daemon.DaemonStatusModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.policy.PolicyModel;
import agent.contract.service.ServiceModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;

/**
 * The agent and its environment, for a report of a fault.
 *
 * @param agentMemoryMap mappings of the process of the agent, as in /proc/self/smaps
 * @param agentStatus status of the daemon
 * @param agentVersion version of the agent
 * @param endpointList endpoints
 * @param environmentVariables variables of the process, NAME=value; values that may be secret are
 *     masked
 * @param kernelVersion release of the running kernel
 * @param policy rules; absent where they cannot be read
 * @param serviceList services
 * @param subsystem report of each subsystem by its name
 */
public record DebugInformationModel(
    @JsonProperty("agent-memory-map") String agentMemoryMap,
    @JsonProperty("agent-status") DaemonStatusModel agentStatus,
    @JsonProperty("agent-version") String agentVersion,
    @JsonProperty("endpoint-list") List<EndpointModel> endpointList,
    @JsonProperty("environment-variables") List<String> environmentVariables,
    @JsonProperty("kernel-version") String kernelVersion,
    @JsonProperty("policy") PolicyModel policy,
    @JsonProperty("service-list") List<ServiceModel> serviceList,
    @JsonProperty("subsystem") Map<String, String> subsystem) {}
