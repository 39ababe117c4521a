package agent.endpoint;

import agent.identity.Identity;
import java.util.List;
import java.util.Map;

/**
 * An endpoint as it was at one moment; immutable, and all that the doors show of it.
 *
 * @param id the local id, 1 to 65535
 * @param state where it stands
 * @param health its health
 * @param identity its identity, or null before it has one
 * @param labels its label sets
 * @param options the configuration asked for: option name to value
 * @param realizedOptions the configuration in effect
 * @param datapathConfiguration how it is wired
 * @param externalIdentifiers how others name it
 * @param networking where it is attached
 * @param namedPorts its ports that have names
 * @param policy the policy asked for
 * @param realizedPolicy the policy in effect
 * @param controllers its repeated tasks
 * @param log its status changes, newest first, at most 256
 * @param workload what else its creator said of it
 * @param error why the last build failed, or null
 */
public record EndpointSnapshot(
    int id,
    EndpointState state,
    EndpointHealth health,
    Identity identity,
    EndpointLabels labels,
    Map<String, String> options,
    Map<String, String> realizedOptions,
    DatapathConfiguration datapathConfiguration,
    ExternalIdentifiers externalIdentifiers,
    EndpointNetworking networking,
    List<NamedPort> namedPorts,
    EndpointPolicyStatus policy,
    EndpointPolicyStatus realizedPolicy,
    List<ControllerStatus> controllers,
    List<LogEntry> log,
    WorkloadDescription workload,
    String error) {}
