package agent.node;

import agent.bindings.Errno;
import agent.bindings.net.NetlinkRequest;
import agent.bindings.net.NetlinkSocket;
import agent.node.NodeStore.NodeRecord;
import agent.node.netlink.AddressMessage;
import agent.node.netlink.LinkMessage;
import agent.node.netlink.RouteNetlink;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Manages the gateways of workloads as addresses of the loopback device, by rtnetlink. */
final class NetlinkGateways implements Gateways {
  private final LocalAddresses localAddresses;
  private final NodeAddressing addressing;

  NetlinkGateways(LocalAddresses localAddresses, NodeAddressing addressing) {
    this.localAddresses = localAddresses;
    this.addressing = addressing;
  }

  @Override
  public List<IpAddress> keep(Set<IpAddress> present) {
    final List<IpAddress> missing =
        gateways().filter(gateway -> !present.contains(gateway)).toList();
    if (!missing.isEmpty()) {
      NetlinkCall.run(netlink -> change(netlink, false, missing, List.of()));
    }
    return missing;
  }

  private Stream<IpAddress> gateways() {
    return Stream.of(addressing.ipv4(), addressing.ipv6())
        .filter(FamilyAddressing::enabled)
        .map(FamilyAddressing::gateway);
  }

  /**
   * Sets the loopback device up, adds missing gateways, and removes the gateways of ranges of the
   * previous run that are no longer used.
   *
   * @param before the ranges of the previous run of the agent
   * @throws Refusal FAILED with the kernel's message
   */
  void own(Optional<NodeRecord> before) {
    final List<LocalAddress> present = localAddresses.all();
    final List<IpAddress> missing =
        gateways().filter(gateway -> !isPresent(present, gateway)).toList();
    final List<IpAddress> former = new ArrayList<>();
    before.ifPresent(
        record -> {
          former(record.ipv4Range(), addressing.ipv4(), present).ifPresent(former::add);
          former(record.ipv6Range(), addressing.ipv6(), present).ifPresent(former::add);
        });
    NetlinkCall.run(netlink -> change(netlink, true, missing, former));
  }

  private static boolean isPresent(List<LocalAddress> present, IpAddress address) {
    return present.stream().anyMatch(local -> local.address().equals(address));
  }

  private static Optional<IpAddress> former(
      Prefix range, FamilyAddressing now, List<LocalAddress> present) {
    if (range == null || !now.enabled() || range.equals(now.range())) {
      return Optional.empty();
    }
    final IpAddress gateway = range.address().plus(1);
    final LocalAddress added = new LocalAddress(gateway, gateway.bitLength(), DEVICE);
    return present.contains(added) ? Optional.of(gateway) : Optional.empty();
  }

  /**
   * Adds and removes gateways; an address that is already present or already removed is not an
   * error.
   */
  private static int change(
      RouteNetlink netlink, boolean setsUp, List<IpAddress> missing, List<IpAddress> former) {
    final LinkMessage loopback =
        netlink
            .link(DEVICE)
            .orElseThrow(() -> new OperationException("interface '" + DEVICE + "' does not exist"));
    final List<NetlinkRequest> changes = new ArrayList<>();
    if (setsUp) {
      changes.add(loopback.upRequest());
    }
    missing.forEach(gateway -> changes.add(on(loopback, gateway).addRequest()));
    former.forEach(gateway -> changes.add(on(loopback, gateway).deleteRequest()));
    for (final NetlinkSocket.Failure failure : netlink.change(changes)) {
      final int errno = failure.cause().errno();
      if (errno != Errno.EEXIST && errno != Errno.EADDRNOTAVAIL) {
        throw failure.cause();
      }
    }
    return changes.size();
  }

  private static AddressMessage on(LinkMessage device, IpAddress gateway) {
    final int flags = gateway.isIpv6() ? AddressMessage.IFA_F_NODAD : 0;
    return new AddressMessage(gateway, gateway.bitLength(), device.index(), flags, null);
  }
}
