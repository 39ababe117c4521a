package agent.endpoint.state;

import agent.endpoint.state.EndpointLog.LogEntry;
import agent.identity.Identity;
import agent.policy.spec.NamedPort;
import agent.types.EntrySource;
import java.util.List;
import java.util.Map;

/**
 * An immutable snapshot of an endpoint, with everything that the API returns.
 *
 * @param id the local id, 1 to 65535
 * @param state its state
 * @param health its health
 * @param identity its identity, or null before it has one
 * @param labels its label sets
 * @param options the requested options: option name to value
 * @param realizedOptions the options in effect
 * @param datapathConfiguration its datapath options
 * @param externalIdentifiers the identifiers that other programs use for it
 * @param networking its interface and addresses
 * @param namedPorts its named ports
 * @param policy the latest resolved policy
 * @param realizedPolicy the enforced policy
 * @param controllers the status of its periodic tasks
 * @param log its status changes, newest first, at most 256
 * @param workload the other fields of the create request
 * @param source who alone changes and deletes it
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
    EntrySource source,
    String error) {
  /** Returns a copy with another health. */
  EndpointSnapshot withHealth(EndpointHealth other) {
    return new EndpointSnapshot(
        id,
        state,
        other,
        identity,
        labels,
        options,
        realizedOptions,
        datapathConfiguration,
        externalIdentifiers,
        networking,
        namedPorts,
        policy,
        realizedPolicy,
        controllers,
        log,
        workload,
        source,
        error);
  }
}
