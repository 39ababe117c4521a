package agent.endpoint.state;

import agent.node.Devices.Device;
import agent.types.MacAddress;

/**
 * The veth of an endpoint. Its host side is identified by name, index and hardware address: the
 * kernel gives name and index of a removed device to another one.
 *
 * @param name the host side's name
 * @param index the host side's index in the agent's network namespace
 * @param mac the hardware address of the workload's side
 * @param hostMac the hardware address of the host side
 */
public record EndpointDevice(String name, int index, MacAddress mac, MacAddress hostMac) {
  /** Returns whether the device is this host side, maybe with another name. */
  public boolean isIndexAndMacOf(Device device) {
    return isMacOf(device) && device.index() == index;
  }

  /** Returns whether the device has name and hardware address of this host side. */
  public boolean isNameAndMacOf(Device device) {
    return isMacOf(device) && device.name().equals(name);
  }

  private boolean isMacOf(Device device) {
    return device != null && device.isVeth() && hostMac.equals(device.mac());
  }

  /**
   * Returns how the device with this name differs from this host side.
   *
   * @param present the device that has the name now, or null
   * @return null where it does not differ
   */
  public String difference(Device present) {
    if (present == null) {
      return "interface '" + name + "' is gone";
    }
    if (present.index() != index) {
      return "interface '%s' has index %d, not %d".formatted(name, present.index(), index);
    }
    if (!hostMac.equals(present.mac())) {
      return "interface '%s' has MAC address %s, not %s".formatted(name, present.mac(), hostMac);
    }
    return null;
  }

  /** Returns a copy with another name and index. */
  public EndpointDevice at(Device device) {
    return new EndpointDevice(device.name(), device.index(), mac, hostMac);
  }
}
