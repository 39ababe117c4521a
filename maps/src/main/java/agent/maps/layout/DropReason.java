package agent.maps.layout;

/**
 * Why a packet was dropped; metrics and notifications carry the number. {@code enum drop_reason} in
 * {@code lib/drop_reason.h}.
 */
public enum DropReason implements Numbered {
  NONE(0),
  /** No rule allows it. */
  POLICY_DENIED(1),
  /** A deny rule forbids it. */
  POLICY_DENY_RULE(2),
  INVALID_SOURCE_MAC(3),
  INVALID_SOURCE_ADDRESS(4),
  UNKNOWN_ETHERTYPE(5),
  /** Truncated or inconsistent headers. */
  MALFORMED(6),
  /** An L4 protocol that policy cannot name. */
  UNKNOWN_PROTOCOL(7),
  /** A later fragment whose first one was not seen. */
  FRAGMENT_NOT_FOUND(8),
  /** No entry could be made. */
  CONNTRACK_FULL(9),
  ICMP_ERROR_UNTRACKED(10),
  /** ARP or ND for another address than the gateway's. */
  NEIGHBOUR_UNKNOWN(11),
  FAMILY_DISABLED(12),
  /** The destination endpoint is gone. */
  NO_ENDPOINT(13),
  PREFILTER(14),
  /** More IPv6 extension headers than are walked. */
  EXTENSION_HEADERS(15);

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
