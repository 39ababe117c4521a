package agent.datapath.manager.spec;

import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.Objects;

/**
 * What the datapath has to know of one endpoint; all of it becomes constants of its programs.
 *
 * @param id 1 to 65535
 * @param ifindex the host side of its veth, in the node's namespace
 * @param interfaceName the same interface, for messages
 * @param ipv4 its IPv4 address, or null
 * @param ipv6 its IPv6 address, or null
 * @param mac the workload's interface
 * @param hostMac the host side, and the answer to ARP and ND for the gateway
 * @param identity its security identity
 * @param options bits of {@code agent.maps.layout.EndpointOption}
 * @param aggregation MonitorAggregationLevel: 0 None, 1 Low, 2 Medium, 3 Maximum
 */
public record EndpointSpec(
    int id,
    int ifindex,
    String interfaceName,
    IpAddress ipv4,
    IpAddress ipv6,
    MacAddress mac,
    MacAddress hostMac,
    int identity,
    int options,
    int aggregation) {

  /** The largest endpoint id: it has to fit the maps that are indexed by it. */
  public static final int MAX_ID = 65535;

  /** Checks ranges and families. */
  public EndpointSpec {
    requireId(id);
    if (ifindex < 1) {
      throw Refusal.invalid("interface-index", ifindex + " is not an interface index");
    }
    Objects.requireNonNull(interfaceName, "interfaceName");
    Objects.requireNonNull(mac, "mac");
    Objects.requireNonNull(hostMac, "hostMac");
    if (ipv4 != null && !ipv4.isIpv4()) {
      throw Refusal.invalid("addressing.ipv4", "'" + ipv4 + "' is not an IPv4 address");
    }
    if (ipv6 != null && !ipv6.isIpv6()) {
      throw Refusal.invalid("addressing.ipv6", "'" + ipv6 + "' is not an IPv6 address");
    }
    if (aggregation < 0 || aggregation > 3) {
      throw Refusal.invalid("MonitorAggregationLevel", aggregation + " is not a level");
    }
  }

  /** The same endpoint under another identity. */
  public EndpointSpec withIdentity(int other) {
    return new EndpointSpec(
        id, ifindex, interfaceName, ipv4, ipv6, mac, hostMac, other, options, aggregation);
  }

  /**
   * Passes an endpoint id through.
   *
   * @throws Refusal INVALID where it is out of range
   */
  public static int requireId(int id) {
    if (id < 1 || id > MAX_ID) {
      throw Refusal.invalid("id", id + " is not between 1 and " + MAX_ID);
    }
    return id;
  }
}
