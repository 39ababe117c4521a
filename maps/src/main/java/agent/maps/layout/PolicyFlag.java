package agent.maps.layout;

/** Flag bits of a policy entry. {@code enum policy_flag} in {@code maps/policy_map.h}. */
public enum PolicyFlag implements Numbered {
  DENY(1),
  REDIRECT(2),
  AUDIT(4),
  /** On the entry of any identity and any protocol that allows: no rule asks for more. */
  ALLOWS_ALL(8);

  public static final EnumSpec ENUM = EnumSpec.of("policy_flag", "POLICY_FLAG_", values());

  private final int number;

  PolicyFlag(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
