package agent.datapath.spec;

import agent.types.AddressPair;
import agent.types.NumberOption;
import agent.types.Prefix;
import java.util.Map;

/**
 * Which addresses flows of workloads, and of clients outside to backends outside, get where they
 * leave the node, and which addresses of workloads' packets stand for IPv4 addresses.
 *
 * @param addresses those that they get by each device at the start, by its name
 * @param native4 the IPv4 prefix to which packets are not masqueraded, or null
 * @param native6 the IPv6 prefix to which packets are not masqueraded, or null
 * @param socketPorts those that no flow gets, unless all others are taken
 * @param nat46Range the IPv6 prefix of 96 bits to which packets become IPv4 packets, or null
 * @param endpointSharePercent {@code --masquerade-endpoint-share}: the part of the ports to one
 *     destination that the flows of an endpoint may get
 */
public record Masquerading(
    Map<String, AddressPair> addresses,
    Prefix native4,
    Prefix native6,
    SocketPorts socketPorts,
    Prefix nat46Range,
    int endpointSharePercent) {
  /** Percentage of the ports to one destination that the flows of an endpoint may get. */
  public static final NumberOption ENDPOINT_SHARE =
      new NumberOption("masquerade-endpoint-share", 25, 1, 100);

  /** Flows keep their addresses. */
  public static final Masquerading NONE =
      new Masquerading(Map.of(), null, null, SocketPorts.NONE, null);

  public Masquerading {
    addresses = Map.copyOf(addresses);
    if (native4 != null && !native4.address().isIpv4()) {
      throw new IllegalArgumentException("native4: no IPv4 prefix");
    }
    if (native6 != null && native6.address().isIpv4()) {
      throw new IllegalArgumentException("native6: no IPv6 prefix");
    }
    ENDPOINT_SHARE.check(endpointSharePercent);
    if (nat46Range != null && (nat46Range.isIpv4() || nat46Range.length() != 96)) {
      throw new IllegalArgumentException("nat46-range: no IPv6 prefix of 96 bits");
    }
  }

  /** Creates the record with the default share of an endpoint. */
  public Masquerading(
      Map<String, AddressPair> addresses,
      Prefix native4,
      Prefix native6,
      SocketPorts socketPorts,
      Prefix nat46Range) {
    this(addresses, native4, native6, socketPorts, nat46Range, ENDPOINT_SHARE.standard());
  }
}
