package agent.maps.layout;

import java.util.List;
import java.util.Map;

/**
 * Capacities of maps that the agent needs before it opens the maps: defaults of options and ranges
 * of ids. {@code enum balancer_size}, {@code conntrack_size}, {@code device_size}, {@code
 * endpoint_size}, {@code interface_size}, {@code policy_size}, {@code service_size} and {@code
 * watched_address_size} in the headers of the maps.
 */
public final class MapSize {
  /** Default capacity for TCP flows of one address family, unless the option changes it. */
  public static final int CONNTRACK_TCP = 1_000_000;

  /** Default capacity for other flows of one address family, unless the option changes it. */
  public static final int CONNTRACK_ANY = 262_144;

  /** Exclusive upper bound of endpoint ids. */
  public static final int ENDPOINTS = 65_536;

  /** Capacity of one policy map, in entries. */
  public static final int POLICY_MAP = 16_384;

  /** Number of cells of the map {@code interfaces}, a power of two. */
  public static final int INTERFACE_CELLS = 65_536;

  /** The value of each entry of the map {@code devices}. */
  public static final int DEVICE_GUARDED = 1;

  /** Most frontends, of which one of any protocol counts twice. */
  public static final int SERVICES = 65_536;

  /** Most backends of all services. */
  public static final int SERVICE_BACKENDS = 524_288;

  /** Cells in one entry of the map {@code service_cells}. */
  public static final int SERVICE_CELLS = 64;

  /** Most flows whose backends the load balancer keeps. */
  public static final int BALANCER_FLOWS = 262_144;

  /** Ports of a proxy, one after the other. */
  public static final int REDIRECT_PORTS = 8;

  /** Datagrams that proxies get of one endpoint in a second. */
  public static final int REDIRECT_DATAGRAMS = 4_000;

  /** Most sockets by which proxies continue flows to endpoints. */
  public static final int REDIRECT_SOCKETS = 65_536;

  /** Most addresses that one round of sweeps looks for. */
  public static final int WATCHED_ADDRESSES = 16_384;

  static final List<EnumSpec> ENUMS =
      List.of(
          EnumSpec.of("balancer_size", Map.of("BALANCER_FLOWS_MAX", BALANCER_FLOWS)),
          EnumSpec.of(
              "conntrack_size",
              Map.of(
                  "CONNTRACK_TCP_MAX_ENTRIES", CONNTRACK_TCP,
                  "CONNTRACK_ANY_MAX_ENTRIES", CONNTRACK_ANY,
                  "CONNTRACK_OVERFLOW_MAX_ENTRIES", 65_536)),
          EnumSpec.of("device_size", Map.of("DEVICES_MAX", 1024, "DEVICE_GUARDED", DEVICE_GUARDED)),
          EnumSpec.of("endpoint_size", Map.of("ENDPOINTS_MAX", ENDPOINTS)),
          EnumSpec.of(
              "interface_size",
              Map.of("INTERFACE_CELLS", INTERFACE_CELLS, "INTERFACE_OVERFLOW_MAX", 8192)),
          EnumSpec.of("policy_size", Map.of("POLICY_MAP_MAX_ENTRIES", POLICY_MAP)),
          EnumSpec.of("rate_size", Map.of("NAMESPACE_RATES", 1024)),
          EnumSpec.of(
              "redirect_size",
              Map.of(
                  "REDIRECT_KINDS",
                  4,
                  "REDIRECT_PORTS",
                  REDIRECT_PORTS,
                  "REDIRECT_SOCKETS_MAX",
                  REDIRECT_SOCKETS,
                  "REDIRECT_DATAGRAMS",
                  REDIRECT_DATAGRAMS)),
          EnumSpec.of(
              "service_size",
              Map.of(
                  "SERVICES_MAX",
                  SERVICES,
                  "SERVICE_BACKENDS_MAX",
                  SERVICE_BACKENDS,
                  "SERVICE_AFFINITIES_MAX",
                  65_536,
                  "SERVICE_CELLS",
                  SERVICE_CELLS,
                  "SERVICE_CELLS_MAX",
                  524_288,
                  "SERVICE_ENDS_MAX",
                  262_144,
                  "SOCKET_COUNTERS",
                  SocketCounter.values().length)),
          EnumSpec.of("watched_address_size", Map.of("WATCHED_ADDRESSES_MAX", WATCHED_ADDRESSES)));

  private MapSize() {}
}
