package agent.node;

import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.List;
import java.util.stream.Stream;

/**
 * The route of the node's stack to one workload, through the host side of its veth.
 *
 * @param interfaceName the host side of the veth
 * @param mac the workload's hardware address
 * @param ipv4 the workload's IPv4 address, or null
 * @param ipv6 the workload's IPv6 address, or null
 */
public record WorkloadRoute(String interfaceName, MacAddress mac, IpAddress ipv4, IpAddress ipv6) {
  /** Returns the addresses that are not null, IPv4 first. */
  public List<IpAddress> addresses() {
    return Stream.of(ipv4, ipv6).filter(address -> address != null).toList();
  }
}
