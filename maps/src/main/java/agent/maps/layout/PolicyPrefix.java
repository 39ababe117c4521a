package agent.maps.layout;

import java.util.Map;

/**
 * Prefix lengths of policy keys, counted in bits after the member {@code prefix_length}. {@code
 * enum policy_prefix} in {@code maps/policy_map.h}.
 */
public final class PolicyPrefix {
  /** Covers identity and direction, for any protocol. */
  public static final int IDENTITY = 40;

  /** Also covers the protocol, for any port. */
  public static final int PROTOCOL = 48;

  /** Also covers the port; smaller lengths down to {@link #PROTOCOL} + 1 stand for a port range. */
  public static final int PORT = 64;

  static final EnumSpec ENUM =
      EnumSpec.of(
          "policy_prefix",
          Map.of(
              "POLICY_PREFIX_IDENTITY", IDENTITY,
              "POLICY_PREFIX_PROTOCOL", PROTOCOL,
              "POLICY_PREFIX_PORT", PORT));

  private PolicyPrefix() {}
}
