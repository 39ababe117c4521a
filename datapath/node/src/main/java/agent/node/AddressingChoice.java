package agent.node;

import agent.node.NodeStore.NodeRecord;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Chooses the node's addresses and ranges from options, devices and the record of the previous run.
 */
final class AddressingChoice {
  private static final int TEN = 10 << 24;
  private static final int HUNDRED = 100 << 24;
  private static final int HUNDRED_SEVENTY_TWO = 172 << 24;
  private static final int RANGE4_LENGTH = 16;
  private static final int RANGE6_LENGTH = 96;
  private static final int SMALLEST_RANGE4 = 30;

  private final NodeOptions options;
  private final LocalAddresses addresses;
  private final List<LocalAddress> local;
  private final Optional<NodeRecord> before;

  AddressingChoice(NodeOptions options, LocalAddresses addresses, Optional<NodeRecord> before) {
    this.options = options;
    this.addresses = addresses;
    this.local = addresses.all();
    this.before = before;
  }

  NodeAddressing choose() {
    final IpAddress node4 = node("ipv4-node", options.ipv4Node(), true);
    final IpAddress node6 = node("ipv6-node", options.ipv6Node(), false);
    final Prefix range4 = range4(node4);
    final IpAddress seed = node4 == null ? range4.address().plus(1) : node4;
    return new NodeAddressing(
        options.enableIpv4() ? FamilyAddressing.of(node4, range4) : FamilyAddressing.DISABLED,
        options.enableIpv6()
            ? FamilyAddressing.of(node6, range6(seed))
            : FamilyAddressing.DISABLED);
  }

  /**
   * Returns the record to store; a disabled family keeps its range for a later run that enables it.
   */
  NodeRecord record(NodeAddressing chosen) {
    return new NodeRecord(
        chosen.ipv4().enabled()
            ? chosen.ipv4().range()
            : before.map(NodeRecord::ipv4Range).orElse(null),
        chosen.ipv6().enabled()
            ? chosen.ipv6().range()
            : before.map(NodeRecord::ipv6Range).orElse(null));
  }

  private boolean isEnabled(boolean ipv4) {
    return ipv4 ? options.enableIpv4() : options.enableIpv6();
  }

  private static boolean isAuto(String value) {
    return value == null || value.isEmpty() || value.equals(NodeOptions.AUTO);
  }

  private IpAddress node(String option, String value, boolean ipv4) {
    if (!isAuto(value)) {
      final IpAddress address = IpAddress.parse(option, value);
      if (address.isIpv4() != ipv4) {
        throw Refusal.invalid(option, "'" + value + "' belongs to the other address family");
      }
      if (isEnabled(ipv4) && local.stream().noneMatch(a -> a.address().equals(address))) {
        throw Refusal.invalid(option, "no interface of this node has " + address);
      }
      return address;
    }
    final List<LocalAddress> candidates =
        local.stream()
            .filter(a -> a.address().isIpv4() == ipv4)
            .filter(a -> !a.isLoopback() && !a.isLinkLocal() && !isOwnGateway(a))
            .toList();
    final Optional<String> preferred =
        DeviceSelection.parse(options.device()).preferred().or(() -> addresses.defaultDevice(ipv4));
    return preferred
        .flatMap(device -> first(candidates, a -> a.device().equals(device)))
        .or(() -> first(candidates, a -> !isOnLoopback(a)))
        .or(() -> first(candidates, a -> true))
        .orElse(null);
  }

  private static Optional<IpAddress> first(
      List<LocalAddress> candidates, Predicate<LocalAddress> wanted) {
    return candidates.stream().filter(wanted).map(LocalAddress::address).findFirst();
  }

  private static boolean isOnLoopback(LocalAddress address) {
    return address.device().equals("lo");
  }

  /**
   * Returns whether a previous run of the agent added the address to the loopback device as
   * gateway.
   */
  private boolean isOwnGateway(LocalAddress address) {
    return isOnLoopback(address)
        && before
            .map(b -> address.address().isIpv4() ? b.ipv4Range() : b.ipv6Range())
            .map(range -> range.address().plus(1).equals(address.address()))
            .orElse(false);
  }

  private Prefix range4(IpAddress node) {
    if (!isAuto(options.ipv4Range())) {
      final Prefix range = Prefix.parse("ipv4-range", options.ipv4Range());
      if (!range.isIpv4() || range.length() > SMALLEST_RANGE4) {
        throw Refusal.invalid(
            "ipv4-range",
            "'" + options.ipv4Range() + "' is not an IPv4 CIDR of at most /" + SMALLEST_RANGE4);
      }
      return unused("ipv4-range", range);
    }
    return before
        .map(NodeRecord::ipv4Range)
        .or(() -> ranges4(node).stream().filter(this::isFree).findFirst())
        .orElseThrow(
            () ->
                Refusal.invalid(
                    "ipv4-range", "every private range overlaps a network of this node; name one"));
  }

  /**
   * Returns candidate ranges: {@code 10.<last byte of the node>.0.0/16} first, then the following
   * /16 ranges, then other private ranges.
   */
  private static List<Prefix> ranges4(IpAddress node) {
    final int last = node == null ? 1 : node.byteAt(3) & 0xff;
    final List<Prefix> ranges = new ArrayList<>();
    for (int i = 0; i < 256; i++) {
      ranges.add(range(TEN, last + i & 0xff));
    }
    for (int i = 16; i < 32; i++) {
      ranges.add(range(HUNDRED_SEVENTY_TWO, i));
    }
    for (int i = 64; i < 128; i++) {
      ranges.add(range(HUNDRED, i));
    }
    return ranges;
  }

  private static Prefix range(int first, int second) {
    return Prefix.of(IpAddress.ofIpv4(first | second << 16), RANGE4_LENGTH);
  }

  /**
   * Returns the range of an option, with which no network of a device may overlap. The loopback
   * device has the gateway of the range.
   */
  private Prefix unused(String option, Prefix range) {
    for (final LocalAddress address : local) {
      if (isEnabled(range.isIpv4())
          && !isOnLoopback(address)
          && address.network().overlaps(range)) {
        throw Refusal.invalid(
            option,
            "%s overlaps the network %s of interface '%s'"
                .formatted(range, address.network(), address.device()));
      }
    }
    return range;
  }

  private boolean isFree(Prefix range) {
    return local.stream().noneMatch(a -> a.network().overlaps(range));
  }

  private Prefix range6(IpAddress seed) {
    if (!isAuto(options.ipv6Range())) {
      final Prefix range = Prefix.parse("ipv6-range", options.ipv6Range());
      if (!range.isIpv6() || range.length() != RANGE6_LENGTH) {
        throw Refusal.invalid("ipv6-range", "'" + options.ipv6Range() + "' is not an IPv6 /96");
      }
      return unused("ipv6-range", range);
    }
    final Prefix cluster = Prefix.parse("ipv6-cluster-alloc-cidr", options.ipv6ClusterAllocCidr());
    if (!cluster.isIpv6() || cluster.length() != 64) {
      throw Refusal.invalid(
          "ipv6-cluster-alloc-cidr", "'" + options.ipv6ClusterAllocCidr() + "' is not an IPv6 /64");
    }
    return before
        .map(NodeRecord::ipv6Range)
        .filter(cluster::covers)
        .orElseGet(
            () ->
                Prefix.of(
                    IpAddress.ofIpv6(cluster.address().high(), seed.low() << 32), RANGE6_LENGTH));
  }
}
