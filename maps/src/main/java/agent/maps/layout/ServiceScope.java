package agent.maps.layout;

/** Whose packets a frontend takes. {@code enum service_scope} in {@code maps/service_map.h}. */
public enum ServiceScope implements Numbered {
  /** Those of this node and its workloads. */
  INSIDE(0),
  /** Those that a device of the network receives. */
  OUTSIDE(1);

  public static final EnumSpec ENUM = EnumSpec.of("service_scope", "SERVICE_", values());

  private final int number;

  ServiceScope(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
