package agent.contract.ipam;

import agent.contract.node.NodeAddressingModel;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * What POST /ipam allocated.
 *
 * @param address the addresses
 * @param hostAddressing addresses of the node
 * @param ipv4 IPv4 part
 * @param ipv6 IPv6 part
 */
public record IpamAllocationModel(
    @JsonProperty("address") AddressPairModel address,
    @JsonProperty("host-addressing") NodeAddressingModel hostAddressing,
    @JsonProperty("ipv4") Family ipv4,
    @JsonProperty("ipv6") Family ipv6) {

  /**
   * Allocation of one address family.
   *
   * @param cidrs CIDRs the address belongs to
   * @param expirationUuid set where expiration was asked for
   * @param gateway gateway address
   * @param interfaceNumber generic interface identifier
   * @param ip allocated address
   * @param masterMac MAC of the master interface
   */
  public record Family(
      @JsonProperty("cidrs") List<String> cidrs,
      @JsonProperty("expiration-uuid") String expirationUuid,
      @JsonProperty("gateway") String gateway,
      @JsonProperty("interface-number") String interfaceNumber,
      @JsonProperty("ip") String ip,
      @JsonProperty("master-mac") String masterMac) {}
}
