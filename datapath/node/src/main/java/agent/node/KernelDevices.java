package agent.node;

import agent.bindings.BindingsException;
import agent.bindings.NetworkDevice;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;

/**
 * Devices by name from the kernel itself, since each build asks for one; the others from a list.
 */
final class KernelDevices implements Devices {
  private final Devices listed;

  KernelDevices(Devices listed) {
    this.listed = listed;
  }

  @Override
  public Optional<Device> byName(String name) {
    try {
      return NetworkDevice.find(name)
          .filter(found -> found.name().equals(name))
          .map(KernelDevices::device);
    } catch (BindingsException failure) {
      throw Refusal.of(Refusal.Kind.FAILED, "", failure.getMessage(), failure);
    }
  }

  private static Device device(NetworkDevice found) {
    final MacAddress mac = found.mac() < 0 ? null : MacAddress.of(found.mac());
    final String kind = found.driver().isEmpty() ? null : found.driver();
    return new Device(found.name(), found.index(), mac, found.mtu(), found.isUp(), kind);
  }

  @Override
  public Optional<Device> byIndex(int index) {
    return listed.byIndex(index);
  }

  @Override
  public List<Device> all() {
    return listed.all();
  }
}
