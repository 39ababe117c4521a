package agent.server.handler;

import agent.contract.node.NodeAddressModel;
import agent.contract.node.NodeAddressingModel;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;

/** Converts the addresses of the node to the records of the contract. */
public final class NodeEncoder {
  private static final String INTERNAL_IP = "InternalIP";

  private NodeEncoder() {}

  /** Converts the addresses of both families. */
  public static NodeAddressingModel encode(NodeAddressing node) {
    return new NodeAddressingModel(family(node.ipv4()), family(node.ipv6()));
  }

  private static NodeAddressModel family(FamilyAddressing family) {
    return new NodeAddressModel(
        family.enabled() ? INTERNAL_IP : null,
        text(family.range()),
        family.enabled(),
        text(family.node()));
  }

  /** Returns the text of a value, or null where there is none. */
  static String text(Object value) {
    return value == null ? null : value.toString();
  }
}
