package agent.maps.layout;

/**
 * How packets of clients outside reach a backend on another host. {@code enum service_forwarding}
 * in {@code maps/service_map.h}.
 */
public enum ServiceForwarding implements Numbered {
  /** By direct return from the load balancer of a device, else with SNAT. */
  DEFAULT(0),
  /** With an address of this node, to which the backend answers. */
  SNAT(1),
  /** Encapsulated; the backend answers the client itself. */
  DSR(2);

  public static final EnumSpec ENUM =
      EnumSpec.of("service_forwarding", "SERVICE_FORWARDING_", values());

  private final int number;

  ServiceForwarding(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
