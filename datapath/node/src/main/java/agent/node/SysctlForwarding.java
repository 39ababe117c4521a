package agent.node;

import agent.bindings.net.NetlinkSocket;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.RouteNetlink;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Keeps forwarding on by sysctls of the calling thread's network namespace, and the MTU of host
 * sides by rtnetlink.
 */
final class SysctlForwarding implements Forwarding {
  private final Sysctls sysctls;
  private final NodeAddressing addressing;
  private final int mtu;

  /** The devices whose {@code accept_ra} was set. */
  private final Set<String> accepting = new TreeSet<>();

  /** Creates it with the MTU of host sides; 0 for none. */
  SysctlForwarding(Sysctls sysctls, NodeAddressing addressing, int mtu) {
    this.sysctls = sysctls;
    this.addressing = addressing;
    this.mtu = mtu;
  }

  @Override
  public List<String> keep() {
    final List<String> changed = new ArrayList<>();
    if (addressing.ipv4().enabled()) {
      sysctls.restore("1", "ipv4", "ip_forward").ifPresent(changed::add);
    }
    if (addressing.ipv6().enabled()) {
      if (!sysctls.get("ipv6", "conf", "all", "forwarding").equals("1")) {
        keepRouterAdvertisements();
      } else if (!accepting.isEmpty()) {
        accepting.retainAll(sysctls.list("ipv6", "conf"));
        accepting.forEach(device -> acceptAdvertisements(device).ifPresent(changed::add));
      }
      sysctls.restore("1", "ipv6", "conf", "all", "forwarding").ifPresent(changed::add);
    }
    return changed;
  }

  /**
   * Sets {@code accept_ra} from 1 to 2 on every device: with 1, a device ignores router
   * advertisements once the node forwards (ip-sysctl.rst).
   */
  private void keepRouterAdvertisements() {
    for (final String device : sysctls.list("ipv6", "conf")) {
      if (!device.equals("all")
          && !device.equals("default")
          && acceptAdvertisements(device).isPresent()) {
        accepting.add(device);
      }
    }
  }

  private Optional<String> acceptAdvertisements(String device) {
    return sysctls.get("ipv6", "conf", device, "accept_ra").equals("1")
        ? sysctls.restore("2", "ipv6", "conf", device, "accept_ra")
        : Optional.empty();
  }

  @Override
  public List<String> keepDevice(String deviceName) {
    return addressing.ipv4().enabled()
        ? sysctls.restore("1", "ipv4", "conf", deviceName, "forwarding").stream().toList()
        : List.of();
  }

  /** Enables IPv4 forwarding on the host side and disables its reverse path filter. */
  @Override
  public List<String> keep(String interfaceName) {
    return Stream.of(
            sysctls.restore("1", "ipv4", "conf", interfaceName, "forwarding"),
            sysctls.restore("0", "ipv4", "conf", interfaceName, "rp_filter"))
        .flatMap(Optional::stream)
        .toList();
  }

  @Override
  public List<String> keepMtu(String interfaceName) {
    return mtu == 0
        ? List.of()
        : NetlinkCall.run(
            netlink ->
                netlink
                    .link(interfaceName)
                    .filter(link -> link.mtu() != mtu)
                    .map(link -> setMtu(netlink, link))
                    .stream()
                    .toList());
  }

  private String setMtu(RouteNetlink netlink, LinkMessage link) {
    for (final NetlinkSocket.Failure failure : netlink.change(List.of(link.mtuRequest(mtu)))) {
      throw failure.cause();
    }
    return "the MTU of %s was %d and was set to %d".formatted(link.name(), link.mtu(), mtu);
  }
}
