package agent.node;

import agent.types.MacAddress;
import java.util.List;
import java.util.Optional;

/** The network devices of the agent's namespace. */
public interface Devices {
  /**
   * Returns the device that has this name now.
   *
   * @param name a name that {@link InterfaceName#check} accepted
   * @return the device, or empty where there is none
   */
  Optional<Device> byName(String name);

  /**
   * Returns the device that has this index now.
   *
   * @param index the index
   * @return the device, or empty where there is none
   */
  Optional<Device> byIndex(int index);

  /** Returns all present devices. */
  List<Device> all();

  /**
   * Returns the other end of a veth, which may be in another namespace.
   *
   * @param index the index of the end in this namespace
   * @return the other end with the index and the namespace ids of its own namespace, or empty where
   *     it cannot be found
   */
  Optional<Device> peerOf(int index);

  /**
   * A snapshot of a network device in the agent's namespace.
   *
   * @param name the device's name
   * @param index its index, unique in the namespace
   * @param mac its hardware address, or null where it is not of 48 bits
   * @param mtu in bytes
   * @param up whether it is administratively up
   * @param kind its kind, such as {@code veth}, or null for a physical device
   * @param hasCarrier whether it is up and has a carrier; for a veth both ends are up then
   * @param peerNamespaceId the id of the namespace of the other end of a veth, or -1 where that end
   *     is in this namespace
   */
  record Device(
      String name,
      int index,
      MacAddress mac,
      int mtu,
      boolean up,
      String kind,
      boolean hasCarrier,
      int peerNamespaceId) {
    /** Returns whether it is an end of a veth pair. */
    public boolean isVeth() {
      return "veth".equals(kind);
    }
  }
}
