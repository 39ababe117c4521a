package agent.service;

import agent.types.Refusal;

/** Where a service is offered, with the names of the API. */
public enum ServiceType {
  /** To the processes of this node and of its workloads. */
  CLUSTER_IP("ClusterIP"),
  /** And outside, at a port of this node's addresses. */
  NODE_PORT("NodePort"),
  /** And outside, at an address that the network routes to this node. */
  EXTERNAL_IPS("ExternalIPs"),
  /** And outside, at a port of this node's addresses, for a workload of this node. */
  HOST_PORT("HostPort"),
  /** And outside, at an address that a load balancer of the network sends to this node. */
  LOAD_BALANCER("LoadBalancer");

  private final String text;

  ServiceType(String text) {
    this.text = text;
  }

  /** Returns the name in the API. */
  public String text() {
    return text;
  }

  /** Returns whether clients outside reach the service. */
  public boolean isOutside() {
    return this != CLUSTER_IP;
  }

  /** Returns whether the unspecified address stands for all addresses of this node. */
  public boolean isOfNode() {
    return this == NODE_PORT || this == HOST_PORT;
  }

  /**
   * Returns the type of a name.
   *
   * @throws Refusal INVALID naming the field, for any other name
   */
  public static ServiceType parse(String field, String name) {
    for (final ServiceType type : values()) {
      if (type.text.equals(name)) {
        return type;
      }
    }
    throw Refusal.invalid(
        field, "'" + name + "' is not ClusterIP, NodePort, ExternalIPs, HostPort or LoadBalancer");
  }
}
