package agent.maps.layout;

/** The proxies that flows are sent to. {@code enum redirect_kind} in {@code maps/policy_map.h}. */
public enum RedirectKind implements Numbered {
  /** No proxy. */
  NONE(0),
  /** The HTTP proxy. */
  HTTP(1),
  /** The DNS proxy. */
  DNS(2);

  public static final EnumSpec ENUM = EnumSpec.of("redirect_kind", "REDIRECT_", values());

  private final int number;

  RedirectKind(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
