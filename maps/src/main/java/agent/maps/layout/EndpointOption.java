package agent.maps.layout;

/**
 * Bits of {@code endpoint_entry.options}. {@code enum endpoint_option} in {@code
 * maps/endpoint_map.h}.
 */
public enum EndpointOption implements Numbered {
  CONNTRACK(1),
  CONNTRACK_ACCOUNTING(2),
  DROP_NOTIFICATION(4),
  TRACE_NOTIFICATION(8),
  POLICY_VERDICT_NOTIFICATION(16),
  POLICY_AUDIT_MODE(32),
  SOURCE_IP_VERIFICATION(64),
  ARP_PASSTHROUGH(256),
  /** Of the node and not of the endpoint: flows bypass the stack. */
  HOST_ROUTING(512),
  /** The node has services, which packets are compared with. */
  SERVICES(1024),
  /** Of the node and not of the endpoint: events have the first bytes of their packets. */
  CAPTURE(2048);

  public static final EnumSpec ENUM = EnumSpec.of("endpoint_option", "OPTION_", values());

  private final int number;

  EndpointOption(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
