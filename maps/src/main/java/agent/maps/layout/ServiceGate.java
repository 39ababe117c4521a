package agent.maps.layout;

/**
 * Whether programs of devices look for services. {@code enum service_gate} in {@code
 * maps/service_map.h}.
 */
public enum ServiceGate implements Numbered {
  /** No frontend takes packets from outside. */
  CLOSED(1),
  /** One does. */
  OPEN(2);

  public static final EnumSpec ENUM = EnumSpec.of("service_gate", "SERVICE_GATE_", values());

  private final int number;

  ServiceGate(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
