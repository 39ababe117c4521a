package agent.contract.service;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What a service is.
 *
 * @param backendAddresses those that serve it
 * @param flags how it is served
 * @param frontendAddress the address that clients use
 * @param id its number
 */
public record ServiceSpecModel(
    @JsonProperty("backend-addresses") List<BackendAddress> backendAddresses,
    @JsonProperty("flags") Flags flags,
    @JsonProperty("frontend-address") FrontendAddress frontendAddress,
    @JsonProperty("id") Integer id) {

  /**
   * The address that clients use.
   *
   * @param ip address
   * @param port port
   * @param protocol protocol
   * @param scope whose packets it is for
   */
  public record FrontendAddress(
      @JsonProperty("ip") String ip,
      @JsonProperty("port") Integer port,
      @JsonProperty("protocol") String protocol,
      @JsonProperty("scope") String scope) {}

  /**
   * One that serves.
   *
   * @param ip address
   * @param nodeName node that it runs on
   * @param port port
   * @param protocol protocol
   * @param state whether it takes connections
   * @param weight share of new connections
   */
  public record BackendAddress(
      @JsonProperty("ip") String ip,
      @JsonProperty("nodeName") String nodeName,
      @JsonProperty("port") Integer port,
      @JsonProperty("protocol") String protocol,
      @JsonProperty("state") String state,
      @JsonProperty("weight") Integer weight) {}

  /**
   * How a service is served.
   *
   * @param affinityTimeoutSeconds how long a client keeps its backend
   * @param extTrafficPolicy which backends take traffic from outside
   * @param forwardingMode how packets from outside reach backends on other hosts
   * @param intTrafficPolicy which backends take traffic from this node
   * @param name name
   * @param namespace namespace of the name
   * @param sessionAffinity whether a client keeps its backend
   * @param type where the service is offered
   */
  public record Flags(
      @JsonProperty("affinityTimeoutSeconds") Integer affinityTimeoutSeconds,
      @JsonProperty("extTrafficPolicy") String extTrafficPolicy,
      @JsonProperty("forwardingMode") String forwardingMode,
      @JsonProperty("intTrafficPolicy") String intTrafficPolicy,
      @JsonProperty("name") String name,
      @JsonProperty("namespace") String namespace,
      @JsonProperty("sessionAffinity") String sessionAffinity,
      @JsonProperty("type") String type) {}
}
