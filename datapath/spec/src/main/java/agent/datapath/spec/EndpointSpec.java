package agent.datapath.spec;

import agent.maps.layout.MapSize;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.Objects;

/**
 * The datapath configuration of one endpoint, which becomes its entry of the map {@code endpoints}.
 *
 * @param id endpoint id, 1 to 65535
 * @param ifindex index of the host-side veth interface in the network namespace of the node
 * @param interfaceName name of that interface, for messages
 * @param ipv4 IPv4 address of the workload, or null
 * @param ipv6 IPv6 address of the workload, or null
 * @param mac MAC address of the workload's interface
 * @param hostMac MAC address of the host-side interface, with which ARP and ND for the gateway are
 *     answered
 * @param identity security identity of the endpoint
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

  /**
   * The largest endpoint id, which is an index of the maps {@code endpoints} and {@code policies}.
   */
  public static final int MAX_ID = MapSize.ENDPOINTS_MAX - 1;

  /** Checks ranges and address families. */
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

  /** Returns a copy with another identity. */
  public EndpointSpec withIdentity(int other) {
    return new EndpointSpec(
        id, ifindex, interfaceName, ipv4, ipv6, mac, hostMac, other, options, aggregation);
  }

  /**
   * Returns the endpoint id after checking its range.
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
