package agent.endpoint.model;

import agent.policy.model.NaivePeer;
import agent.types.IpAddress;

/**
 * One end of a packet.
 *
 * @param endpoint id of the endpoint of this node, 0 for another host
 * @param kind what it is to policy
 * @param address its address
 */
public record ModelHost(int endpoint, NaivePeer.Kind kind, IpAddress address) {
  /** Returns whether it is an endpoint of this node, which has a policy. */
  public boolean isEndpoint() {
    return endpoint != 0;
  }

  /** Returns whether it is this node. */
  public boolean isNode() {
    return kind == NaivePeer.Kind.HOST;
  }

  @Override
  public String toString() {
    return isEndpoint() ? "endpoint " + endpoint : kind + " " + address;
  }
}
