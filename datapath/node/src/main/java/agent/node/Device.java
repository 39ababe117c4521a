package agent.node;

import agent.types.MacAddress;

/**
 * A snapshot of a network device in the agent's namespace.
 *
 * @param name the device's name
 * @param index its index, unique in the namespace
 * @param mac its hardware address, or null where it is not of 48 bits
 * @param mtu in bytes
 * @param up whether it is administratively up
 * @param kind its kind, such as {@code veth}, or null for a physical device
 */
public record Device(String name, int index, MacAddress mac, int mtu, boolean up, String kind) {
  /** Returns whether it is an end of a veth pair. */
  public boolean isVeth() {
    return "veth".equals(kind);
  }
}
