package agent.node;

import agent.node.Devices.Device;
import agent.node.netlink.LinkMessage;
import java.util.List;
import java.util.Optional;

/**
 * Reads devices from the kernel at each call, by rtnetlink. It does not use {@link
 * java.net.NetworkInterface}, which omits devices without an address such as the host side of a
 * veth, nor sysfs, which shows the namespace that mounted it.
 */
final class NetlinkDevices implements Devices {
  @Override
  public Optional<Device> byName(String name) {
    return NetlinkCall.run(netlink -> netlink.link(name)).map(NetlinkDevices::device);
  }

  @Override
  public Optional<Device> byIndex(int index) {
    return NetlinkCall.run(netlink -> netlink.link(index)).map(NetlinkDevices::device);
  }

  @Override
  public List<Device> all() {
    return NetlinkCall.run(netlink -> netlink.links()).stream()
        .map(NetlinkDevices::device)
        .toList();
  }

  @Override
  public Optional<Device> peerOf(int index) {
    return NetlinkCall.run(netlink -> netlink.link(index).flatMap(netlink::peer))
        .map(NetlinkDevices::device);
  }

  static Device device(LinkMessage link) {
    return new Device(
        link.name(),
        link.index(),
        link.mac(),
        link.mtu(),
        link.isUp(),
        link.kind(),
        link.isRunning(),
        link.peerNamespaceId());
  }
}
