package agent.server.handler;

import agent.contract.WireFormat;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointChangeRequest.NamedPortRequest;
import agent.contract.ipam.AddressPairModel;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.request.EndpointRequest.RequestedPort;
import agent.endpoint.state.DatapathConfiguration;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;

/** Converts the create and modify requests of endpoints to the form of the domain. */
final class EndpointDecoder {
  private final JsonMapper mapper = WireFormat.strictMapper();

  EndpointRequest decode(EndpointChangeRequest body) {
    return new EndpointRequest(
        body.state(),
        addressing(body.addressing()),
        body.containerId(),
        body.containerInterfaceName(),
        body.containerName(),
        datapath(body.datapathConfiguration()),
        body.datapathMapId(),
        body.disableLegacyIdentifiers(),
        body.runtimeEndpointId(),
        body.runtimeNetworkId(),
        body.hostMac(),
        body.mac(),
        body.id(),
        body.interfaceIndex(),
        body.interfaceName(),
        body.k8sNamespace(),
        body.k8sPodName(),
        body.k8sUid(),
        body.labels(),
        body.netnsCookie(),
        body.pid(),
        body.policyEnabled(),
        body.properties() == null ? null : mapper.writeValueAsString(body.properties()),
        namedPorts(body.namedPorts()),
        body.syncBuildEndpoint());
  }

  private static List<RequestedPort> namedPorts(List<NamedPortRequest> ports) {
    return ports == null
        ? null
        : ports.stream()
            .map(port -> new RequestedPort(port.name(), port.port(), port.protocol()))
            .toList();
  }

  private static AddressingRequest addressing(AddressPairModel pair) {
    return pair == null
        ? null
        : new AddressingRequest(
            pair.ipv4(),
            pair.ipv4ExpirationUuid(),
            pair.ipv4PoolName(),
            pair.ipv6(),
            pair.ipv6ExpirationUuid(),
            pair.ipv6PoolName());
  }

  private static DatapathConfiguration datapath(EndpointChangeRequest.DatapathConfiguration asked) {
    return asked == null
        ? null
        : new DatapathConfiguration(
            asked.disableSipVerification(),
            asked.externalIpam(),
            asked.installEndpointRoute(),
            asked.requireArpPassthrough(),
            asked.requireEgressProg(),
            asked.requireRouting());
  }
}
