package agent.maps.kernel;

import agent.maps.format.MapFormat;
import agent.maps.format.MapFormats;
import java.util.List;

/**
 * The maps of a node: the name, text format and mirror of each one. {@code bpf-src/include/maps}
 * defines their shapes, which {@link ShippedMaps} reads from the BTF of the objects.
 */
public final class NodeMaps {
  public static final NodeMap CONNTRACK4_TCP = read("conntrack4_tcp", MapFormats.CONNTRACK4);
  public static final NodeMap CONNTRACK4_ANY = read("conntrack4_any", MapFormats.CONNTRACK4);
  public static final NodeMap CONNTRACK6_TCP = read("conntrack6_tcp", MapFormats.CONNTRACK6);
  public static final NodeMap CONNTRACK6_ANY = read("conntrack6_any", MapFormats.CONNTRACK6);
  public static final NodeMap FRAGMENTS4 = read("fragments4", MapFormats.FRAGMENTS4);
  public static final NodeMap FRAGMENTS6 = read("fragments6", MapFormats.FRAGMENTS6);
  public static final NodeMap IPCACHE4 = mirrored("ipcache4", MapFormats.IPCACHE4);
  public static final NodeMap IPCACHE6 = mirrored("ipcache6", MapFormats.IPCACHE6);
  public static final NodeMap ENDPOINTS = mirrored("endpoints", MapFormats.ENDPOINTS);
  public static final NodeMap GENERATIONS = read("generations", MapFormats.GENERATIONS);
  public static final NodeMap POLICIES = read("policies", MapFormats.POLICIES);
  public static final NodeMap METRICS = read("metrics", MapFormats.METRICS);
  public static final NodeMap PREFILTER4 = mirrored("prefilter4", MapFormats.PREFILTER4);
  public static final NodeMap PREFILTER6 = mirrored("prefilter6", MapFormats.PREFILTER6);
  public static final NodeMap PREFILTER4_CELLS = read("prefilter4_cells", MapFormats.CELLS);
  public static final NodeMap PREFILTER6_WIDE_CELLS =
      read("prefilter6_wide_cells", MapFormats.CELLS);
  public static final NodeMap PREFILTER6_NARROW_CELLS =
      read("prefilter6_narrow_cells", MapFormats.CELLS);
  public static final NodeMap EVENTS = read("events", MapFormats.hexadecimal(0, 0));
  public static final NodeMap EVENTS_LOST = read("events_lost", MapFormats.EVENTS_LOST);

  /** Maps that exist only on a node with a prefilter device. */
  public static final List<NodeMap> PREFILTER =
      List.of(
          PREFILTER4, PREFILTER6, PREFILTER4_CELLS, PREFILTER6_WIDE_CELLS, PREFILTER6_NARROW_CELLS);

  /** All maps except the policy maps of endpoints. */
  public static final List<NodeMap> ALL =
      List.of(
          CONNTRACK4_TCP,
          CONNTRACK4_ANY,
          CONNTRACK6_TCP,
          CONNTRACK6_ANY,
          FRAGMENTS4,
          FRAGMENTS6,
          IPCACHE4,
          IPCACHE6,
          ENDPOINTS,
          GENERATIONS,
          POLICIES,
          METRICS,
          PREFILTER4,
          PREFILTER6,
          PREFILTER4_CELLS,
          PREFILTER6_WIDE_CELLS,
          PREFILTER6_NARROW_CELLS,
          EVENTS,
          EVENTS_LOST);

  /** Any policy map; {@link #POLICIES} declares the shape, and each policy map has its own name. */
  static final NodeMap POLICY = mirrored("policy_map", MapFormats.POLICY);

  private NodeMaps() {}

  /**
   * Creates a map without mirror: programs write it, or the agent through mapped memory, so it is
   * read from the kernel.
   */
  private static NodeMap read(String name, MapFormat format) {
    return new NodeMap(name, format, false);
  }

  private static NodeMap mirrored(String name, MapFormat format) {
    return new NodeMap(name, format, true);
  }
}
