package agent.endpoint.state;

import agent.datapath.spec.EndpointSpec;
import agent.node.Devices.Device;
import agent.types.MacAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * The veth of an endpoint. The kernel gives name and index of a removed device to another one, and
 * other programs change the name and both hardware addresses of a device. Index and hardware
 * address together identify the host side; where the address differs, the datapath's link does,
 * which the kernel ends with its device.
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

  /** Returns whether a veth has the index of this host side, whatever else it has. */
  public boolean isIndexOf(Device device) {
    return device != null && device.isVeth() && device.mac() != null && device.index() == index;
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

  /** Returns what differs on this veth since it was read, for messages. */
  public String change(EndpointDevice now) {
    final List<String> changes = new ArrayList<>();
    if (!name.equals(now.name)) {
      changes.add("was renamed to '" + now.name + "'");
    }
    if (!hostMac.equals(now.hostMac)) {
      changes.add("has MAC address " + now.hostMac + " instead of " + hostMac);
    }
    if (!mac.equals(now.mac)) {
      changes.add("has MAC address " + now.mac + " instead of " + mac + " on the workload's side");
    }
    return "interface '" + name + "' " + String.join(", ", changes);
  }

  /** Returns a copy with another name and index. */
  public EndpointDevice at(Device device) {
    return new EndpointDevice(device.name(), device.index(), mac, hostMac);
  }

  /** Returns a copy with the name, the index and the hardware address that the host side has. */
  public EndpointDevice as(Device device) {
    return new EndpointDevice(device.name(), device.index(), mac, device.mac());
  }

  /** Returns whether the datapath has other hardware addresses; null where it has none. */
  public boolean differsFrom(EndpointSpec attached) {
    return attached != null && !(mac.equals(attached.mac()) && hostMac.equals(attached.hostMac()));
  }

  /** Returns a copy with another hardware address of the workload's side. */
  public EndpointDevice withMac(MacAddress other) {
    return new EndpointDevice(name, index, other, hostMac);
  }
}
