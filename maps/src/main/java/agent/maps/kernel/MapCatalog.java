package agent.maps.kernel;

import agent.maps.format.MapFormat;
import agent.maps.format.MapFormats;
import java.util.List;
import java.util.Optional;

/**
 * The maps of a node: the name, text format and mirror of each one. {@code bpf-src/include/maps}
 * defines their shapes, which {@link MapDefinitions} reads from the BTF of the objects.
 */
public final class MapCatalog {
  public static final MapProperties CONNTRACK4_TCP =
      read("conntrack4_tcp", MapFormats.CONNTRACK4).withLayout(2);
  public static final MapProperties CONNTRACK4_ANY =
      read("conntrack4_any", MapFormats.CONNTRACK4).withLayout(2);
  public static final MapProperties CONNTRACK6_TCP =
      read("conntrack6_tcp", MapFormats.CONNTRACK6).withLayout(2);
  public static final MapProperties CONNTRACK6_ANY =
      read("conntrack6_any", MapFormats.CONNTRACK6).withLayout(2);
  public static final MapProperties CONNTRACK4_OVERFLOW =
      read("conntrack4_overflow", MapFormats.CONNTRACK4).withLayout(2);
  public static final MapProperties CONNTRACK6_OVERFLOW =
      read("conntrack6_overflow", MapFormats.CONNTRACK6).withLayout(2);
  public static final MapProperties FLOW_USAGE = read("flow_usage", MapFormats.FLOW_USAGE);
  public static final MapProperties WATCHED_ADDRESSES =
      read("watched_addresses", MapFormats.WATCHED_ADDRESSES);
  public static final MapProperties PORT_USAGE = read("port_usage", MapFormats.PORT_USAGE);
  public static final MapProperties ENDPOINT_RATES =
      read("endpoint_rates", MapFormats.ENDPOINT_RATES);
  public static final MapProperties NAMESPACE_RATES =
      read("namespace_rates", MapFormats.ENDPOINT_RATES);
  public static final MapProperties FRAGMENTS4 = read("fragments4", MapFormats.FRAGMENTS4);
  public static final MapProperties FRAGMENTS6 = read("fragments6", MapFormats.FRAGMENTS6);
  public static final MapProperties IPCACHE4 = mirrored("ipcache4", MapFormats.IPCACHE4);
  public static final MapProperties IPCACHE6 = mirrored("ipcache6", MapFormats.IPCACHE6);
  public static final MapProperties ENDPOINTS = mirrored("endpoints", MapFormats.ENDPOINTS);
  public static final MapProperties INTERFACES = read("interfaces", MapFormats.INTERFACES);
  public static final MapProperties INTERFACES_OVERFLOW =
      mirrored("interfaces_overflow", MapFormats.INTERFACES_OVERFLOW);
  public static final MapProperties DEVICES = mirrored("devices", MapFormats.DEVICES);
  public static final MapProperties REDIRECT_PROXIES =
      read("redirect_proxies", MapFormats.REDIRECT_PROXIES);
  public static final MapProperties REDIRECT_SOCKETS =
      read("redirect_sockets", MapFormats.REDIRECT_SOCKETS);
  public static final MapProperties GENERATIONS =
      read("generations", MapFormats.GENERATIONS).withLayout(2);
  public static final MapProperties POLICIES = read("policies", MapFormats.POLICIES);
  public static final MapProperties METRICS = read("metrics", MapFormats.METRICS);
  public static final MapProperties PREFILTER_TABLES =
      read("prefilter_tables", MapFormats.PREFILTER_TABLES);
  public static final MapProperties PREFILTER4_CELLS = read("prefilter4_cells", MapFormats.CELLS);
  public static final MapProperties PREFILTER6_WIDE_CELLS =
      read("prefilter6_wide_cells", MapFormats.CELLS);
  public static final MapProperties PREFILTER6_NARROW_CELLS =
      read("prefilter6_narrow_cells", MapFormats.CELLS);
  public static final MapProperties BALANCER_FLOWS =
      read("balancer_flows", MapFormats.BALANCER_FLOWS);
  public static final MapProperties SERVICES = read("services", MapFormats.SERVICES);
  public static final MapProperties SERVICE_GATE = read("service_gate", MapFormats.SERVICE_GATE);
  public static final MapProperties SERVICE_SLOTS = read("service_slots", MapFormats.SERVICE_SLOTS);
  public static final MapProperties SERVICE_TABLES =
      read("service_tables", MapFormats.SERVICE_TABLES);
  public static final MapProperties SERVICE_CELLS = read("service_cells", MapFormats.SERVICE_CELLS);
  public static final MapProperties SERVICE_ENDS = read("service_ends", MapFormats.SERVICE_ENDS);
  public static final MapProperties SERVICE_BACKENDS =
      read("service_backends", MapFormats.SERVICE_BACKENDS);
  public static final MapProperties SERVICE_AFFINITIES =
      read("service_affinities", MapFormats.SERVICE_AFFINITIES);
  public static final MapProperties SOCKET_METRICS =
      read("socket_metrics", MapFormats.SOCKET_METRICS);
  public static final MapProperties EVENTS = read("events", MapFormats.hexadecimal(0, 0));
  public static final MapProperties EVENT_GATE = read("event_gate", MapFormats.EVENT_GATE);
  public static final MapProperties EVENTS_LOST = read("events_lost", MapFormats.EVENTS_LOST);

  /** Maps that exist only on a node with a prefilter device. */
  public static final List<MapProperties> PREFILTER =
      List.of(PREFILTER_TABLES, PREFILTER4_CELLS, PREFILTER6_WIDE_CELLS, PREFILTER6_NARROW_CELLS);

  /** Maps that exist only on a node that balances services at the socket. */
  public static final List<MapProperties> SOCKET =
      List.of(
          SERVICES,
          SERVICE_GATE,
          SERVICE_SLOTS,
          SERVICE_TABLES,
          SERVICE_CELLS,
          SERVICE_ENDS,
          SERVICE_BACKENDS,
          SERVICE_AFFINITIES,
          SOCKET_METRICS);

  /** Prefilter maps that release 0.3.0 and those before it have pinned, and this one has not. */
  public static final List<String> PREFILTER_BEFORE = List.of("prefilter4", "prefilter6");

  /** All maps except the policy maps of endpoints and the tables of the prefilter. */
  public static final List<MapProperties> ALL =
      List.of(
          CONNTRACK4_TCP,
          CONNTRACK4_ANY,
          CONNTRACK6_TCP,
          CONNTRACK6_ANY,
          CONNTRACK4_OVERFLOW,
          CONNTRACK6_OVERFLOW,
          FLOW_USAGE,
          PORT_USAGE,
          WATCHED_ADDRESSES,
          ENDPOINT_RATES,
          NAMESPACE_RATES,
          read("reject_rates", MapFormats.hexadecimal(Integer.BYTES, 2 * Long.BYTES)),
          FRAGMENTS4,
          FRAGMENTS6,
          read("fragments4_overflow", MapFormats.FRAGMENTS4),
          read("fragments6_overflow", MapFormats.FRAGMENTS6),
          read("fragment_claims", MapFormats.hexadecimal(0, 0)), // numbers of datagrams outside
          read("fragment_numbers", MapFormats.hexadecimal(0, 0)),
          read("number_rates", MapFormats.hexadecimal(0, 0)),
          read("datagram_numbers", MapFormats.DATAGRAM_NUMBERS),
          read("early_fragments", MapFormats.EARLY_FRAGMENTS),
          read("early_owners", MapFormats.hexadecimal(0, 0)), // memory of the programs
          IPCACHE4,
          IPCACHE6,
          ENDPOINTS,
          INTERFACES,
          INTERFACES_OVERFLOW,
          DEVICES,
          REDIRECT_PROXIES,
          REDIRECT_SOCKETS,
          read("redirect_rates", MapFormats.hexadecimal(0, 0)),
          GENERATIONS,
          POLICIES,
          METRICS,
          PREFILTER_TABLES,
          PREFILTER4_CELLS,
          PREFILTER6_WIDE_CELLS,
          PREFILTER6_NARROW_CELLS,
          BALANCER_FLOWS,
          SERVICES,
          SERVICE_GATE,
          SERVICE_SLOTS,
          SERVICE_TABLES,
          SERVICE_CELLS,
          SERVICE_ENDS,
          SERVICE_BACKENDS,
          SERVICE_AFFINITIES,
          SOCKET_METRICS,
          EVENTS,
          EVENT_GATE,
          EVENTS_LOST,
          read("overflow_flows", MapFormats.hexadecimal(0, 0)), // memory of the programs
          read("judge_scratch", MapFormats.hexadecimal(0, 0)), // memory of one packet
          read("verdict_cache", MapFormats.hexadecimal(0, 0))); // memory of the programs

  /** Any policy map; {@link #POLICIES} declares the shape, and each policy map has its own name. */
  static final MapProperties POLICY = mirrored("policy_map", MapFormats.POLICY);

  private MapCatalog() {}

  /** Returns the map with this name. */
  public static Optional<MapProperties> named(String name) {
    return ALL.stream().filter(map -> map.name().equals(name)).findFirst();
  }

  /**
   * Creates a map without mirror: programs write it, or the agent through mapped memory, so it is
   * read from the kernel.
   */
  private static MapProperties read(String name, MapFormat format) {
    return new MapProperties(name, format, false, 1);
  }

  private static MapProperties mirrored(String name, MapFormat format) {
    return new MapProperties(name, format, true, 1);
  }
}
