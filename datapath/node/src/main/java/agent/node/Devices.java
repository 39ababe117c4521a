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
   * A snapshot of a network device in the agent's namespace.
   *
   * @param name the device's name
   * @param index its index, unique in the namespace
   * @param mac its hardware address, or null where it is not of 48 bits
   * @param mtu in bytes
   * @param up whether it is administratively up
   * @param kind its kind, such as {@code veth}, or null for a physical device
   */
  record Device(String name, int index, MacAddress mac, int mtu, boolean up, String kind) {
    /** Returns whether it is an end of a veth pair. */
    public boolean isVeth() {
      return "veth".equals(kind);
    }
  }
}
