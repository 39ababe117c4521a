package agent.maps.layout;

/**
 * Direction of traffic as seen from the endpoint. {@code enum policy_direction} in {@code
 * maps/policy_map.h}.
 */
public enum PolicyDirection implements Numbered {
  /** Traffic to the endpoint. */
  INGRESS(0),
  /** Traffic from the endpoint. */
  EGRESS(1);

  public static final EnumSpec ENUM = EnumSpec.of("policy_direction", "POLICY_", values());

  private final int number;

  PolicyDirection(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
