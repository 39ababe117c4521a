package agent.maps.layout;

/** Bits of a conntrack entry. {@code enum conntrack_flag} in {@code maps/conntrack_map.h}. */
public enum ConntrackFlag implements Numbered {
  /** The high side opened the flow. */
  INITIATOR_HIGH(1),
  /** A packet of the responder was seen: TCP is established. */
  SEEN_REPLY(2),
  SEEN_FIN_LOW(4),
  SEEN_FIN_HIGH(8),
  SEEN_RST(16),
  /** Policy cut the flow: it stays denied in both directions. */
  DENIED(32),
  /** TCP: the initiator went past its SYN. */
  SEEN_NON_SYN(64),
  /** The host program counts its packets, too. */
  COUNTED(128),
  /** The host program leaves it to the stack: it is traced, or with this node itself. */
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
