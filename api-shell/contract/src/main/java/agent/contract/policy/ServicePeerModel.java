package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * Services as peers.
 *
 * @param service the name that they have
 */
public record ServicePeerModel(@JsonProperty("k8sService") Name service) {

  /**
   * The name of a service.
   *
   * @param namespace namespace of the name
   * @param serviceName name
   */
  public record Name(
      @JsonProperty("namespace") String namespace,
      @JsonProperty(value = "serviceName", required = true) String serviceName) {}
}
