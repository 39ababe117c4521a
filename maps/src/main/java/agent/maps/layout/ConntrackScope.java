package agent.maps.layout;

/**
 * The leg of a flow that an entry stands for. {@code enum conntrack_scope} in {@code
 * maps/conntrack_map.h}.
 */
public enum ConntrackScope implements Numbered {
  /** As both ends see it, or the leg before a translation. */
  FLOW(0),
  /** The leg behind a translation. */
  TRANSLATED(1),
  /** The leg behind a proxy. */
  PROXIED(2);

  public static final EnumSpec ENUM = EnumSpec.of("conntrack_scope", "CONNTRACK_SCOPE_", values());

  private final int number;

  ConntrackScope(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
