package agent.maps.layout;

/**
 * Bits of what the programs emit beside what the options of an endpoint say. {@code enum
 * event_gate} in {@code maps/event_map.h}.
 */
public enum EventGate implements Numbered {
  TRANSLATIONS(1);

  public static final EnumSpec ENUM = EnumSpec.of("event_gate", "EVENT_GATE_", values());

  private final int number;

  EventGate(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
