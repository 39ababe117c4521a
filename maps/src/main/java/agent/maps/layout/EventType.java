package agent.maps.layout;

/** Types of events. {@code enum event_type} in {@code maps/event_map.h}. */
public enum EventType implements Numbered {
  DROP(1),
  /** A policy verdict on a new flow. */
  VERDICT(2),
  /** A forwarded packet, where tracing is on. */
  TRACE(3),
  /** A flow or a peer of a socket that was given a backend of a service, or a masqueraded flow. */
  TRANSLATION(4);

  public static final EnumSpec ENUM = EnumSpec.of("event_type", "EVENT_", values());

  private final int number;

  EventType(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
