package agent.node;

import agent.bindings.NetlinkSocket;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.RouteNetlink;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Keeps forwarding on by sysctls of the calling thread's network namespace, and the MTU of host
 * sides by rtnetlink.
 */
final class SysctlForwarding implements Forwarding {
  private final Sysctls sysctls;
  private final NodeAddressing addressing;
  private final int mtu;

  /** Creates it with the MTU of host sides; 0 for none. */
  SysctlForwarding(Sysctls sysctls, NodeAddressing addressing, int mtu) {
    this.sysctls = sysctls;
    this.addressing = addressing;
    this.mtu = mtu;
  }

  @Override
  public List<String> keep() {
    return Stream.of(
            addressing.ipv4().enabled()
                ? sysctls.restore("1", "ipv4", "ip_forward")
                : Optional.<String>empty(),
            addressing.ipv6().enabled() ? forwardIpv6() : Optional.<String>empty())
        .flatMap(Optional::stream)
        .toList();
  }

  private Optional<String> forwardIpv6() {
    if (!sysctls.get("ipv6", "conf", "all", "forwarding").equals("1")) {
      keepRouterAdvertisements();
    }
    return sysctls.restore("1", "ipv6", "conf", "all", "forwarding");
  }

  /**
   * Sets {@code accept_ra} from 1 to 2 on every device: with 1, a device ignores router
   * advertisements once the node forwards (ip-sysctl.rst).
   */
  private void keepRouterAdvertisements() {
    for (final String device : sysctls.list("ipv6", "conf")) {
      if (!device.equals("all")
          && !device.equals("default")
          && sysctls.get("ipv6", "conf", device, "accept_ra").equals("1")) {
        sysctls.set("2", "ipv6", "conf", device, "accept_ra");
      }
    }
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
