package agent.node;

import agent.node.netlink.LinkSizes;
import agent.node.netlink.RouteNetlink;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * What the node has now: its devices, its addresses, and the sizes of packets.
 *
 * @param guardedDevices the devices that have the host program, sorted by name
 * @param addresses the addresses of all devices
 * @param deviceMtu the MTU of the interfaces of workloads: that of {@code --mtu}, else the one of
 *     {@code routeMtu}
 * @param routeMtu the MTU of routes to the network: that of the device of the default route, else
 *     the smallest one of the devices that face the network; not above {@code --mtu}
 * @param segments the largest packets of the devices of workloads; of those that face the network
 *     where there is no workload; null where there is neither
 */
public record NodeInventory(
    List<String> guardedDevices,
    List<LocalAddress> addresses,
    int deviceMtu,
    int routeMtu,
    SegmentSizes segments) {
  /** The MTU of Ethernet (RFC 894), where no device faces the network. */
  private static final int ETHERNET_MTU = 1500;

  /**
   * The most bytes of a packet that GRO makes and GSO takes, each the smallest of several devices.
   *
   * @param gro GRO of IPv6
   * @param gso GSO of IPv6
   * @param groIpv4 GRO of IPv4
   * @param gsoIpv4 GSO of IPv4
   */
  public record SegmentSizes(int gro, int gso, int groIpv4, int gsoIpv4) {
    /** Above this size a packet is a BIG TCP one (GRO_LEGACY_MAX_SIZE, linux/netdevice.h). */
    private static final int LEGACY_MAX = 65536;

    /** Returns whether TCP over IPv4 may use packets above 64 KiB. */
    public boolean isBigIpv4() {
      return groIpv4 > LEGACY_MAX && gsoIpv4 > LEGACY_MAX;
    }

    /** Returns whether TCP over IPv6 may use packets above 64 KiB. */
    public boolean isBigIpv6() {
      return gro > LEGACY_MAX && gso > LEGACY_MAX;
    }

    private static SegmentSizes smallest(Collection<LinkSizes> devices) {
      return devices.isEmpty()
          ? null
          : new SegmentSizes(
              least(devices, LinkSizes::groMax),
              least(devices, LinkSizes::gsoMax),
              least(devices, LinkSizes::groIpv4Max),
              least(devices, LinkSizes::gsoIpv4Max));
    }

    private static int least(Collection<LinkSizes> devices, ToIntFunction<LinkSizes> size) {
      return devices.stream().mapToInt(size).min().orElseThrow();
    }
  }

  /**
   * Reads it in the network namespace of the calling thread.
   *
   * @param wantedMtu {@code --mtu}, or 0
   */
  static NodeInventory read(GuardedDevices guarded, LocalAddresses addresses, int wantedMtu) {
    final List<LinkSizes> links = NetlinkCall.run(RouteNetlink::linkSizes);
    final Set<String> facing = guarded.facing();
    final Set<Integer> hostInterfaces = NetlinkWorkloadRoutes.devices();
    final Optional<String> uplink =
        Stream.of(true, false).flatMap(ipv4 -> addresses.defaultDevice(ipv4).stream()).findFirst();
    final NodeInventory found =
        of(
            List.copyOf(guarded.present().keySet()),
            addresses.all(),
            links,
            uplink,
            facing,
            hostInterfaces);
    return found.withMtu(wantedMtu);
  }

  static NodeInventory of(
      List<String> guardedDevices,
      List<LocalAddress> addresses,
      List<LinkSizes> links,
      Optional<String> uplink,
      Set<String> facing,
      Set<Integer> hostInterfaces) {
    final List<LinkSizes> workloads =
        links.stream().filter(link -> hostInterfaces.contains(link.index())).toList();
    final List<LinkSizes> outward =
        links.stream().filter(link -> facing.contains(link.name())).toList();
    final int detected = mtu(links, outward, uplink);
    return new NodeInventory(
        guardedDevices,
        addresses,
        detected,
        detected,
        SegmentSizes.smallest(workloads.isEmpty() ? outward : workloads));
  }

  /** Returns it with an MTU that workloads get instead of the detected one; 0: none. */
  NodeInventory withMtu(int wanted) {
    return wanted == 0
        ? this
        : new NodeInventory(
            guardedDevices, addresses, wanted, Math.min(wanted, routeMtu), segments);
  }

  private static int mtu(List<LinkSizes> links, List<LinkSizes> outward, Optional<String> uplink) {
    return links.stream()
        .filter(link -> uplink.filter(link.name()::equals).isPresent())
        .findFirst()
        .map(LinkSizes::mtu)
        .orElseGet(() -> outward.stream().mapToInt(LinkSizes::mtu).min().orElse(ETHERNET_MTU));
  }
}
