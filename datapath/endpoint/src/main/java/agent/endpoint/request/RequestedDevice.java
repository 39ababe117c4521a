package agent.endpoint.request;

import agent.endpoint.state.EndpointDevice;
import agent.node.Devices;
import agent.node.Devices.Device;
import agent.node.InterfaceName;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the veth that a request names. What the request leaves out is found in the kernel; what it
 * says is held against the kernel, and a contradiction is refused.
 */
final class RequestedDevice {
  private static final String MAC = "mac";
  private static final String HOST_MAC = "host-mac";
  private static final String NAME = "interface-name";
  private static final String INDEX = "interface-index";

  private final Devices devices;
  private final Set<String> nodeDevices;

  RequestedDevice(Devices devices, Set<String> nodeDevices) {
    this.devices = devices;
    this.nodeDevices = nodeDevices;
  }

  /** Returns the veth of a new endpoint. */
  EndpointDevice created(EndpointRequest request) {
    return read(request, hostInterface(request.interfaceName(), request.interfaceIndex()));
  }

  /**
   * Returns the veth after a change. A request that names an interface has both hardware addresses
   * read again, also where the interface is the present one.
   */
  EndpointDevice modified(EndpointDevice before, EndpointRequest request) {
    if (isGiven(request.interfaceName()) || isGiven(request.interfaceIndex())) {
      return created(request);
    }
    if (!isGiven(request.mac()) && !isGiven(request.hostMac())) {
      return before;
    }
    final Optional<Device> host = devices.byIndex(before.index()).filter(Device::isVeth);
    if (host.isPresent()) {
      final EndpointDevice read = read(request, host.get());
      return new EndpointDevice(before.name(), before.index(), read.mac(), read.hostMac());
    }
    if (isGiven(request.hostMac())
        && !address(HOST_MAC, request.hostMac()).equals(before.hostMac())) {
      throw Refusal.invalid(HOST_MAC, "interface '" + before.name() + "' no longer exists");
    }
    return isGiven(request.mac())
        ? new EndpointDevice(
            before.name(), before.index(), address(MAC, request.mac()), before.hostMac())
        : before;
  }

  private static boolean isGiven(String text) {
    return text != null && !text.isEmpty();
  }

  private static boolean isGiven(Integer number) {
    return number != null && number != 0;
  }

  private EndpointDevice read(EndpointRequest request, Device host) {
    final MacAddress hostMac =
        agreed(HOST_MAC, request.hostMac(), host.mac(), "'" + host.name() + "'");
    final String workloadSide = "the workload's side of '" + host.name() + "'";
    final MacAddress found = devices.peerOf(host.index()).map(Device::mac).orElse(null);
    return new EndpointDevice(
        host.name(), host.index(), agreed(MAC, request.mac(), found, workloadSide), hostMac);
  }

  /**
   * Returns the address that a request gives or the kernel has.
   *
   * @param found the address in the kernel, or null where the agent cannot see it
   */
  private static MacAddress agreed(String field, String text, MacAddress found, String subject) {
    if (!isGiven(text)) {
      if (found == null) {
        throw Refusal.invalid(
            field, "is missing, and the address of " + subject + " cannot be determined");
      }
      return found;
    }
    final MacAddress named = address(field, text);
    if (found != null && !found.equals(named)) {
      throw Refusal.invalid(field, "%s has %s, not %s".formatted(subject, found, named));
    }
    return named;
  }

  private static MacAddress address(String field, String text) {
    final MacAddress mac = MacAddress.parse(field, text);
    if (mac.isMulticast() || mac.bits() == 0) {
      throw Refusal.invalid(field, "'" + text + "' is not a valid interface address");
    }
    return mac;
  }

  /**
   * Returns the device, which must be the host side of a veth: removing the endpoint sets it down.
   */
  private Device hostInterface(String name, Integer index) {
    if (index != null && index < 0) {
      throw Refusal.invalid(INDEX, index + " is not a valid interface index");
    }
    if (!isGiven(name) && !isGiven(index)) {
      throw Refusal.invalid(NAME, "is missing: name the host side of the workload's veth");
    }
    final Device device = isGiven(name) ? byName(name, index) : byIndex(index);
    if (nodeDevices.contains(device.name())) {
      throw Refusal.conflict(NAME, "'" + device.name() + "' is a device of the node");
    }
    if (!device.isVeth()) {
      throw Refusal.invalid(NAME, "'" + device.name() + "' is not the host side of a veth");
    }
    return device;
  }

  private Device byIndex(int index) {
    final Device device =
        devices
            .byIndex(index)
            .orElseThrow(
                () -> Refusal.invalid(INDEX, "interface with index " + index + " does not exist"));
    InterfaceName.check(INDEX, device.name());
    return device;
  }

  private Device byName(String name, Integer index) {
    InterfaceName.check(NAME, name);
    final Device device =
        devices
            .byName(name)
            .orElseThrow(() -> Refusal.invalid(NAME, "interface '" + name + "' does not exist"));
    if (isGiven(index) && index != device.index()) {
      throw Refusal.invalid(
          INDEX, index + " does not match index " + device.index() + " of '" + name + "'");
    }
    return device;
  }
}
