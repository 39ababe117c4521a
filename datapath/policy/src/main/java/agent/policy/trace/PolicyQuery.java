package agent.policy.trace;

import agent.identity.LabelSet;
import agent.policy.rule.PortMatch;
import agent.policy.rule.PortName;
import agent.policy.spec.NamedPort;
import agent.types.Refusal;
import java.util.List;
import java.util.Locale;

/**
 * The question whether one peer may open a flow to another. A peer is an endpoint with these
 * labels, whether there is one or not; with a label {@code reserved:…} it is that identity, and
 * with {@code cidr:address/length} the addresses of that CIDR. Without labels it is an endpoint
 * that has none.
 *
 * @param from the labels of the peer that opens the flow
 * @param to the labels of the other
 * @param ports what the flow is for, each of which is to pass; none for every protocol and port
 * @param verbose whether the log also has a line for each element of the rules and each direction
 */
public record PolicyQuery(LabelSet from, LabelSet to, List<Port> ports, boolean verbose) {
  private static final int HIGHEST_PORT = 65535;
  private static final int HIGHEST_TYPE = 255;

  /**
   * A destination port, or the type of an ICMP message.
   *
   * @param text as it is shown
   * @param protocols the numbers of the protocols, each of which is to pass
   * @param number of the port or type; 0 for a port by its name
   * @param name the name of the port, in lower case; null for a number
   */
  public record Port(String text, List<Integer> protocols, int number, String name) {
    /**
     * Reads a port.
     *
     * @param field the field that holds it
     * @param number the port or message type
     * @param protocol {@code TCP}, {@code UDP}, {@code SCTP}, {@code ICMP}, {@code ICMPv6}, or
     *     {@code ANY} and null for the first three
     * @return the port
     * @throws Refusal INVALID
     */
    public static Port of(String field, Integer number, String protocol) {
      final String name = nameOf(protocol);
      final List<Integer> protocols = protocols(field, name);
      final boolean isIcmp = isIcmp(protocols);
      final int highest = isIcmp ? HIGHEST_TYPE : HIGHEST_PORT;
      final int lowest = isIcmp ? 0 : 1;
      if (number == null || number < lowest || number > highest) {
        throw Refusal.invalid(
            field + ".port",
            number == null
                ? "is missing"
                : "'" + number + "' is not a number from " + lowest + " to " + highest);
      }
      return new Port(name + "/" + number, protocols, number, null);
    }

    /**
     * Reads a port that is asked for by its name.
     *
     * @param field the field that holds it
     * @param text the name of a port of the end that the flow is opened to
     * @param protocol {@code TCP}, {@code UDP}, {@code SCTP}, or {@code ANY} and null for those of
     *     them that have the name
     * @return the port
     * @throws Refusal INVALID
     */
    public static Port named(String field, String text, String protocol) {
      final String name = nameOf(protocol);
      final List<Integer> protocols = protocols(field, name);
      if (isIcmp(protocols)) {
        throw Refusal.invalid(field + ".name", "'" + text + "': " + name + " has no ports");
      }
      final String port =
          NamedPort.name(text)
              .orElseThrow(
                  () ->
                      Refusal.invalid(field + ".name", "'" + text + "' is not a valid port name"));
      return new Port(name + "/" + port, protocols, 0, port);
    }

    private static String nameOf(String protocol) {
      return protocol == null || protocol.isEmpty() ? "ANY" : protocol;
    }

    private static List<Integer> protocols(String field, String name) {
      return switch (name.toUpperCase(Locale.ROOT)) {
        case "TCP" -> List.of(6);
        case "UDP" -> List.of(17);
        case "SCTP" -> List.of(132);
        case "ICMP" -> List.of(1);
        case "ICMPV6" -> List.of(58);
        case "ANY" -> List.of(6, 17, 132);
        default ->
            throw Refusal.invalid(
                field + ".protocol",
                "'" + name + "' is not one of TCP, UDP, SCTP, ICMP, ICMPv6, ANY");
      };
    }

    private static boolean isIcmp(List<Integer> protocols) {
      return protocols.getFirst() == 1 || protocols.getFirst() == 58;
    }

    /** Returns it in policy keys; none for a name that none of the ports has. */
    List<PortMatch> matches(List<NamedPort> ports) {
      return name == null
          ? protocols.stream().map(protocol -> PortMatch.of(protocol, number)).toList()
          : new PortName(name, protocols).in(ports);
    }
  }
}
