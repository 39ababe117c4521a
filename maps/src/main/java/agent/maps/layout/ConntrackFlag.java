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
  BY_STACK(256);

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
