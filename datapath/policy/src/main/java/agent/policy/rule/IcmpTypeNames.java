package agent.policy.rule;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Names of ICMP messages: those of the registries "ICMP Type Numbers" and "ICMPv6 'type' Numbers"
 * of IANA that are in use, written in one word; in the order of their numbers.
 */
public final class IcmpTypeNames {
  /** Names for {@code family: IPv4}. */
  public static final Map<String, Integer> IPV4 =
      numbers(
          """
          0 EchoReply
          3 DestinationUnreachable
          5 Redirect
          8 EchoRequest
          9 RouterAdvertisement
          10 RouterSolicitation
          11 TimeExceeded
          12 ParameterProblem
          13 Timestamp
          14 TimestampReply
          40 Photuris
          42 ExtendedEchoRequest
          43 ExtendedEchoReply
          """);

  /** Names for {@code family: IPv6}. */
  public static final Map<String, Integer> IPV6 =
      numbers(
          """
          1 DestinationUnreachable
          2 PacketTooBig
          3 TimeExceeded
          4 ParameterProblem
          128 EchoRequest
          129 EchoReply
          130 MulticastListenerQuery
          131 MulticastListenerReport
          132 MulticastListenerDone
          133 RouterSolicitation
          134 RouterAdvertisement
          135 NeighborSolicitation
          136 NeighborAdvertisement
          137 RedirectMessage
          138 RouterRenumbering
          139 ICMPNodeInformationQuery
          140 ICMPNodeInformationResponse
          141 InverseNeighborDiscoverySolicitationMessage
          142 InverseNeighborDiscoveryAdvertisementMessage
          143 Version2MulticastListenerReport
          144 HomeAgentAddressDiscoveryRequestMessage
          145 HomeAgentAddressDiscoveryReplyMessage
          146 MobilePrefixSolicitation
          147 MobilePrefixAdvertisement
          148 CertificationPathSolicitationMessage
          149 CertificationPathAdvertisementMessage
          151 MulticastRouterAdvertisement
          152 MulticastRouterSolicitation
          153 MulticastRouterTermination
          154 FMIPv6Messages
          155 RPLControlMessage
          157 DuplicateAddressRequest
          158 DuplicateAddressConfirmation
          159 MPLControlMessage
          160 ExtendedEchoRequest
          161 ExtendedEchoReply
          """);

  private IcmpTypeNames() {}

  private static Map<String, Integer> numbers(String lines) {
    final Map<String, Integer> numbers = new LinkedHashMap<>();
    lines
        .lines()
        .map(line -> line.split(" ", 2))
        .forEach(words -> numbers.put(words[1], Integer.valueOf(words[0])));
    return Collections.unmodifiableMap(numbers);
  }
}
