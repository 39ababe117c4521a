package agent.launcher.view;

import agent.ipam.Lease;
import agent.node.NodeAddressing;
import agent.types.Prefix;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Encodes the leases for the status: the addresses of each family, and who has each. */
final class LeaseEncoder {
  private LeaseEncoder() {}

  static Map<String, Object> encode(List<Lease> unsorted, NodeAddressing node) {
    final List<Lease> leases =
        unsorted.stream().sorted(Comparator.comparing(Lease::address)).toList();
    final Map<String, String> allocations = new LinkedHashMap<>();
    leases.forEach(lease -> allocations.put(lease.address().toString(), owner(lease)));
    final List<String> ipv4 = addresses(leases, true);
    final List<String> ipv6 = addresses(leases, false);
    final Map<String, Object> ipam = new LinkedHashMap<>();
    ipam.put("ipv4", ipv4);
    ipam.put("ipv6", ipv6);
    ipam.put("allocations", allocations);
    ipam.put(
        "status",
        family("IPv4", ipv4, node.ipv4().range())
            + ", "
            + family("IPv6", ipv6, node.ipv6().range()));
    return ipam;
  }

  private static String owner(Lease lease) {
    return lease.owner().isEmpty() && lease.endpointId() != 0
        ? "endpoint " + lease.endpointId()
        : lease.owner();
  }

  private static List<String> addresses(List<Lease> leases, boolean ipv4) {
    return leases.stream()
        .filter(lease -> lease.address().isIpv4() == ipv4)
        .map(lease -> lease.address().toString())
        .toList();
  }

  private static String family(String name, List<String> addresses, Prefix range) {
    return range == null
        ? name + ": disabled"
        : name + ": " + addresses.size() + " allocated from " + range;
  }
}
