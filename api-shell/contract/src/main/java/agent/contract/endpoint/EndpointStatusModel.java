package agent.contract.endpoint;

import agent.contract.daemon.ControllerModel;
import agent.contract.identity.IdentityModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * The status part of an endpoint.
 *
 * @param controllers controllers of the endpoint
 * @param externalIdentifiers names by which others know it
 * @param health health
 * @param identity security identity
 * @param labels label sets
 * @param log last transitions
 * @param namedPorts named ports
 * @param networking addresses and devices
 * @param policy policy, asked for and realized
 * @param realized configuration in force
 * @param state state
 */
public record EndpointStatusModel(
    @JsonProperty("controllers") List<ControllerModel> controllers,
    @JsonProperty("external-identifiers") EndpointIdentifiersModel externalIdentifiers,
    @JsonProperty("health") EndpointHealthModel health,
    @JsonProperty("identity") IdentityModel identity,
    @JsonProperty("labels") EndpointLabelsModel.Status labels,
    @JsonProperty("log") List<EndpointLogEntryModel> log,
    @JsonProperty("namedPorts") List<NamedPort> namedPorts,
    @JsonProperty("networking") EndpointNetworkingModel networking,
    @JsonProperty("policy") EndpointPolicyModel policy,
    @JsonProperty("realized") EndpointConfigurationSpecModel realized,
    @JsonProperty(value = "state", required = true) String state) {

  /**
   * A named port of an endpoint.
   *
   * @param name name
   * @param port number
   * @param protocol protocol
   */
  public record NamedPort(
      @JsonProperty("name") String name,
      @JsonProperty("port") Integer port,
      @JsonProperty("protocol") String protocol) {}
}
