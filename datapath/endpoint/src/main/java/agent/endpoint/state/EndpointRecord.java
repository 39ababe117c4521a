package agent.endpoint.state;

import agent.policy.spec.NamedPort;
import agent.types.EntrySource;
import java.util.List;
import java.util.Map;

/**
 * The requested configuration of an endpoint; the store keeps exactly this across restarts.
 *
 * @param id the local id, 1 to 65535
 * @param identity the number of its identity, 0 before it has one
 * @param addressing its addresses
 * @param externalIdentifiers the identifiers that other programs use for it
 * @param device its veth
 * @param labels its labels
 * @param configuration its options
 * @param workload the other fields of the create request
 * @param namedPorts its named ports, in order
 * @param source who alone changes and deletes it
 */
public record EndpointRecord(
    int id,
    int identity,
    EndpointAddressing addressing,
    ExternalIdentifiers externalIdentifiers,
    EndpointDevice device,
    LabelSources labels,
    Configuration configuration,
    WorkloadDescription workload,
    List<NamedPort> namedPorts,
    EntrySource source) {

  /**
   * Labels by origin, in display form.
   *
   * @param derived the labels of the create request
   * @param user the labels set by users
   */
  public record LabelSources(List<String> derived, List<String> user) {}

  /**
   * The options of an endpoint.
   *
   * @param options option name to value
   * @param datapath its datapath options
   */
  public record Configuration(Map<String, String> options, DatapathConfiguration datapath) {}

  /** Returns a copy with another local id. */
  public EndpointRecord withId(int number) {
    return new EndpointRecord(
        number,
        identity,
        addressing,
        externalIdentifiers,
        device,
        labels,
        configuration,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy with another identity. */
  public EndpointRecord withIdentity(int number) {
    return new EndpointRecord(
        id,
        number,
        addressing,
        externalIdentifiers,
        device,
        labels,
        configuration,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy with other addresses. */
  public EndpointRecord withAddressing(EndpointAddressing other) {
    return new EndpointRecord(
        id,
        identity,
        other,
        externalIdentifiers,
        device,
        labels,
        configuration,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy on another veth. */
  public EndpointRecord withDevice(EndpointDevice other) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        other,
        labels,
        configuration,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy with other labels. */
  public EndpointRecord withLabels(LabelSources other) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        device,
        other,
        configuration,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy with another configuration. */
  public EndpointRecord withConfiguration(Configuration other) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        device,
        labels,
        other,
        workload,
        namedPorts,
        source);
  }

  /** Returns a copy with other named ports. */
  public EndpointRecord withNamedPorts(List<NamedPort> other) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        device,
        labels,
        configuration,
        workload,
        other,
        source);
  }

  /** Returns a copy with other identifiers and another description of the workload. */
  public EndpointRecord withDescription(
      ExternalIdentifiers identifiers, WorkloadDescription description) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        identifiers,
        device,
        labels,
        configuration,
        description,
        namedPorts,
        source);
  }

  /** Returns how a message to a source names the endpoint: with its source where that differs. */
  public String nameTo(EntrySource asking) {
    return "endpoint " + id + (source.equals(asking) ? "" : " of source '" + source + "'");
  }
}
