package agent.endpoint;

import agent.types.MacAddress;
import java.util.List;
import java.util.Map;

/**
 * What was asked of an endpoint: all that is kept of it over a restart.
 *
 * @param id the local id, 1 to 65535
 * @param identity the number of its identity, 0 before it has one
 * @param addressing its addresses
 * @param externalIdentifiers how others name it
 * @param interfaceName the host side of its veth
 * @param interfaceIndex that device's index
 * @param mac the workload's hardware address
 * @param hostMac the host side's hardware address
 * @param labels the labels that came with it, in display form
 * @param userLabels the labels that users set, in display form
 * @param options its configuration: option name to value
 * @param datapathConfiguration how it is wired
 * @param workload what else its creator said
 */
public record EndpointRecord(
    int id,
    int identity,
    EndpointAddressing addressing,
    ExternalIdentifiers externalIdentifiers,
    String interfaceName,
    int interfaceIndex,
    MacAddress mac,
    MacAddress hostMac,
    List<String> labels,
    List<String> userLabels,
    Map<String, String> options,
    DatapathConfiguration datapathConfiguration,
    WorkloadDescription workload) {

  EndpointRecord withIdentity(int number) {
    return new EndpointRecord(
        id,
        number,
        addressing,
        externalIdentifiers,
        interfaceName,
        interfaceIndex,
        mac,
        hostMac,
        labels,
        userLabels,
        options,
        datapathConfiguration,
        workload);
  }

  EndpointRecord withAddressing(EndpointAddressing other) {
    return new EndpointRecord(
        id,
        identity,
        other,
        externalIdentifiers,
        interfaceName,
        interfaceIndex,
        mac,
        hostMac,
        labels,
        userLabels,
        options,
        datapathConfiguration,
        workload);
  }

  EndpointRecord withInterface(String name, int index, MacAddress workloadMac, MacAddress host) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        name,
        index,
        workloadMac,
        host,
        labels,
        userLabels,
        options,
        datapathConfiguration,
        workload);
  }

  EndpointRecord withLabels(List<String> derived, List<String> user) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        interfaceName,
        interfaceIndex,
        mac,
        hostMac,
        derived,
        user,
        options,
        datapathConfiguration,
        workload);
  }

  EndpointRecord withOptions(Map<String, String> other, DatapathConfiguration wiring) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        externalIdentifiers,
        interfaceName,
        interfaceIndex,
        mac,
        hostMac,
        labels,
        userLabels,
        other,
        wiring,
        workload);
  }

  EndpointRecord withDescription(ExternalIdentifiers identifiers, WorkloadDescription description) {
    return new EndpointRecord(
        id,
        identity,
        addressing,
        identifiers,
        interfaceName,
        interfaceIndex,
        mac,
        hostMac,
        labels,
        userLabels,
        options,
        datapathConfiguration,
        description);
  }
}
