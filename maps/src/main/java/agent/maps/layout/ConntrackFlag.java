package agent.maps.layout;

/** Flag bits of a conntrack entry. {@code enum conntrack_flag} in {@code maps/conntrack_map.h}. */
public enum ConntrackFlag implements Numbered {
  /** The high side opened the flow. */
  INITIATOR_HIGH(1),
  /** A packet of the responder was seen; a TCP flow is established. */
  SEEN_REPLY(2),
  SEEN_FIN_LOW(4),
  SEEN_FIN_HIGH(8),
  SEEN_RST(16),
  /** Policy denied the flow; it stays denied in both directions. */
  DENIED(32),
  /** TCP only: the initiator has sent a packet other than its SYN. */
  SEEN_NON_SYN(64),
  /** The host program counts packets of the flow. */
  COUNTED(128),
  /**
   * The host program passes the flow to the stack, because it is traced or has this node as its
   * peer.
   */
  BY_STACK(256),
  /** The party of the low side is the shard of an outside address. */
  OUTSIDE_LOW(512),
  /** The party of the high side is the shard of an outside address. */
  OUTSIDE_HIGH(1024),
  /** The flow was first seen in its middle: either side may have opened it. */
  DIRECTION_UNKNOWN(2048),
  /** The endpoint on the low side does not track flows; its policy judges each packet. */
  UNTRACKED_LOW(4096),
  /** The endpoint on the high side does not track flows; its policy judges each packet. */
  UNTRACKED_HIGH(8192),
  /** The packets of one side are rewritten. */
  REWRITTEN(16384),
  /** With {@link #DENIED}: the policy of the high side denies the flow, else that of the low. */
  DENIED_BY_HIGH(32768),
  /** The address of the peer is one of this node. */
  TO_NODE(65536),
  /** Sockets of this node send the packets of the peer; no interface receives them. */
  PEER_IS_NODE(131072),
  /** The entry is in a table of the overflow. */
  OVERFLOW(262144),
  /** A proxy of this node handles the flow. */
  PROXIED(524288),
  /** The low side is a workload that sends to the range of NAT46. */
  NAT46_LOW(1048576),
  /** The high side is a workload that sends to the range of NAT46. */
  NAT46_HIGH(2097152);

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_flag", "CONNTRACK_", values());

  private final int number;

  ConntrackFlag(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
