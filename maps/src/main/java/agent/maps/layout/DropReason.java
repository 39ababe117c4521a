package agent.maps.layout;

/**
 * Reasons for which a program drops a packet; metrics and notifications contain the number. {@code
 * enum drop_reason} in {@code lib/drop_reason.h}.
 */
public enum DropReason implements Numbered {
  NONE(0),
  /** No policy rule allows the packet. */
  POLICY_DENIED(1),
  /** A deny rule of the policy forbids the packet. */
  POLICY_DENY_RULE(2),
  INVALID_SOURCE_MAC(3),
  INVALID_SOURCE_ADDRESS(4),
  UNKNOWN_ETHERTYPE(5),
  /** The headers are truncated or inconsistent. */
  MALFORMED(6),
  /** The policy cannot express the layer 4 protocol. */
  UNKNOWN_PROTOCOL(7),
  /** The first fragment of this later fragment was not seen. */
  FRAGMENT_NOT_FOUND(8),
  /** The program could not create a conntrack entry. */
  CONNTRACK_FULL(9),
  ICMP_ERROR_UNTRACKED(10),
  /** An ARP or ND request asks for another address than the gateway's and the node's. */
  NEIGHBOUR_UNKNOWN(11),
  FAMILY_DISABLED(12),
  /** The destination endpoint no longer exists. */
  NO_ENDPOINT(13),
  PREFILTER(14),
  /** The packet has more IPv6 extension headers than the program parses. */
  EXTENSION_HEADERS(15),
  /** The packet is to a service without a backend. */
  SERVICE_UNSERVED(16),
  /** The receiver, such as a backend, has another connection with the tuple of the packet. */
  TUPLE_IN_USE(17),
  /** A masqueraded flow finds no free port of this node for its destination. */
  PORTS_EXHAUSTED(18),
  /** To a backend on another host; its hop limit ends here, or the way takes smaller ones. */
  NOT_FORWARDABLE(19),
  /** Policy sends the flow to a proxy, which is not there or cannot take it. */
  NO_PROXY(20),
  /** Of a flow between IPv6 and IPv4; the packet has no counterpart in the other family. */
  NOT_TRANSLATABLE(21),
  /** The kernel refuses the program that would judge the packet. */
  PROGRAM_REFUSED(22),
  /** The source or the destination is no unicast address of a host. */
  INVALID_ADDRESS(23),
  /** The sender has sent its share of datagrams to proxies in this second. */
  PROXY_SHARE(24),
  /** To a proxy itself, and not of a flow that policy sends there. */
  NOT_REDIRECTED(25);

  public static final EnumSpec ENUM = EnumSpec.of("drop_reason", "DROP_", values());

  private final int number;

  DropReason(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
