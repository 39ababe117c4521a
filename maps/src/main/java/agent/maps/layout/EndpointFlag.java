package agent.maps.layout;

/** Flag bits of an endpoint entry. {@code enum endpoint_flag} in {@code maps/endpoint_map.h}. */
public enum EndpointFlag implements Numbered {
  /** Option PolicyAuditMode: packets that the policy forbids are reported and pass. */
  POLICY_AUDIT(1);

  public static final EnumSpec ENUM = EnumSpec.of("endpoint_flag", "ENDPOINT_FLAG_", values());

  private final int number;

  EndpointFlag(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
