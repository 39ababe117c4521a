package agent.node;

import agent.types.MacAddress;

/**
 * A network device of the agent's namespace, as it was when it was looked up.
 *
 * @param name the device's name
 * @param index its index, unique in the namespace
 * @param mac its hardware address, or null where it has none of 48 bits
 * @param mtu in bytes
 * @param up whether it is administratively up
 * @param kind its kind, such as {@code veth}, or null where it is none of the virtual ones
 */
public record Device(String name, int index, MacAddress mac, int mtu, boolean up, String kind) {
  /** Whether it is an end of a veth pair. */
  public boolean isVeth() {
    return "veth".equals(kind);
  }
}
