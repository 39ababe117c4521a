package agent.maps.layout;

/**
 * Bits that tell which part of which packets an entry rewrites. {@code enum conntrack_rewrite} in
 * {@code maps/conntrack_map.h}.
 */
public enum ConntrackRewrite implements Numbered {
  /** The destination, else the source. */
  DESTINATION(1),
  /** The packets of the high side, else those of the low side. */
  FROM_HIGH(2),
  /** Between the address of an endpoint and one of this node. */
  MASQUERADE(4),
  /** Both addresses of a packet, of a flow that this node relays. */
  BOTH(8),
  /** With BOTH: in an outer header; the flow has no other entry. */
  OUTER(16);

  public static final EnumSpec ENUM =
      EnumSpec.of("conntrack_rewrite", "CONNTRACK_REWRITE_", values());

  private final int number;

  ConntrackRewrite(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
