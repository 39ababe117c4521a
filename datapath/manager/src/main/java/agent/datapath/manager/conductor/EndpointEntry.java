package agent.datapath.manager.conductor;

import agent.datapath.spec.EndpointSpec;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.types.IpAddress;
import java.util.Set;

/** A copy of an endpoint's entry of the map {@code endpoints}. */
record EndpointEntry(
    int ifindex,
    int options,
    int aggregation,
    long mac,
    long hostMac,
    boolean hasIpv4,
    int ipv4,
    boolean hasIpv6,
    long ipv6High,
    long ipv6Low,
    int identity,
    int policyId) {
  /** The entry of an endpoint that has none. */
  static final EndpointEntry NONE = new EndpointEntry(0, 0, 0, 0, 0, false, 0, false, 0, 0, 0, 0);

  boolean hasOneOf(Set<IpAddress> addresses) {
    return (hasIpv4 && addresses.contains(IpAddress.ofIpv4(ipv4)))
        || (hasIpv6 && addresses.contains(IpAddress.ofIpv6(ipv6High, ipv6Low)));
  }

  static EndpointEntry of(EndpointEntryFlyweight found) {
    return new EndpointEntry(
        found.ifindex(),
        found.options() & ~EntryOptions.OF_NODE,
        found.aggregation(),
        found.mac(),
        found.hostMac(),
        found.hasIpv4(),
        found.ipv4(),
        found.hasIpv6(),
        found.ipv6High(),
        found.ipv6Low(),
        found.identity(),
        found.policyId());
  }

  static EndpointEntry of(EndpointSpec spec, int policyId) {
    final IpAddress ipv4 = spec.ipv4();
    final IpAddress ipv6 = spec.ipv6();
    return new EndpointEntry(
        spec.ifindex(),
        spec.options(),
        spec.aggregation(),
        spec.mac().bits(),
        spec.hostMac().bits(),
        ipv4 != null,
        ipv4 == null ? 0 : (int) ipv4.low(),
        ipv6 != null,
        ipv6 == null ? 0 : ipv6.high(),
        ipv6 == null ? 0 : ipv6.low(),
        spec.identity(),
        policyId);
  }

  EndpointEntry with(int otherIdentity, int otherPolicyId) {
    return new EndpointEntry(
        ifindex,
        options,
        aggregation,
        mac,
        hostMac,
        hasIpv4,
        ipv4,
        hasIpv6,
        ipv6High,
        ipv6Low,
        otherIdentity,
        otherPolicyId);
  }

  /** Returns whether another entry has the same interface and addresses. */
  boolean isAlike(EndpointEntry other) {
    return ifindex == other.ifindex
        && mac == other.mac
        && hostMac == other.hostMac
        && hasIpv4 == other.hasIpv4
        && ipv4 == other.ipv4
        && hasIpv6 == other.hasIpv6
        && ipv6High == other.ipv6High
        && ipv6Low == other.ipv6Low;
  }

  void copyTo(EndpointEntryFlyweight value) {
    value
        .ifindex(ifindex)
        .options(options)
        .aggregation(aggregation)
        .mac(mac)
        .hostMac(hostMac)
        .identity(identity)
        .policyId(policyId)
        .hasIpv4(hasIpv4)
        .hasIpv6(hasIpv6);
    if (hasIpv4) {
      value.ipv4(ipv4);
    }
    if (hasIpv6) {
      value.ipv6(ipv6High, ipv6Low);
    }
  }
}
