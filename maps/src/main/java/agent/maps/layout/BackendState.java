package agent.maps.layout;

/** What a service does with a backend. {@code enum backend_state} in {@code maps/service_map.h}. */
public enum BackendState implements Numbered {
  /** It takes new connections. */
  ACTIVE(1),
  /** It keeps its connections and takes no new ones. */
  TERMINATING(2),
  /** It does not answer: it takes nothing, and the datagrams of its clients go to another. */
  QUARANTINED(3),
  /** It is out of service on purpose, with the same effect as {@link #QUARANTINED}. */
  MAINTENANCE(4);

  public static final EnumSpec ENUM = EnumSpec.of("backend_state", "BACKEND_", values());

  private final int number;

  BackendState(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
