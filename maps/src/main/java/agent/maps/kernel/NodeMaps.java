package agent.maps.kernel;

import static agent.bindings.MapFlag.MMAPABLE;
import static agent.bindings.MapFlag.NO_PREALLOC;

import agent.bindings.MapType;
import agent.maps.format.MapFormats;
import agent.maps.layout.Conntrack4KeyFlyweight;
import agent.maps.layout.Conntrack6KeyFlyweight;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.Fragment4KeyFlyweight;
import agent.maps.layout.Fragment6KeyFlyweight;
import agent.maps.layout.FragmentEntryFlyweight;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.MetricsEntryFlyweight;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.layout.Prefilter4KeyFlyweight;
import agent.maps.layout.Prefilter6KeyFlyweight;
import agent.maps.layout.PrefilterEntryFlyweight;
import java.util.List;

/** The maps of a node, as {@code bpf-src/include/maps} defines them; a test holds them to BTF. */
public final class NodeMaps {
  private static final int CONNTRACK_TCP_MAX_ENTRIES = 1_000_000;
  private static final int CONNTRACK_ANY_MAX_ENTRIES = 262_144;
  private static final int FRAGMENT_MAX_ENTRIES = 8192;
  private static final int IPCACHE_MAX_ENTRIES = 512_000;
  private static final int ENDPOINTS_MAX = 65_536;
  private static final int POLICY_MAP_MAX_ENTRIES = 16_384;
  private static final int METRICS_MAX_ENTRIES = 768;
  private static final int PREFILTER_MAX_ENTRIES = 1_000_000;
  private static final int PREFILTER_CELL_WORDS = 1 << 19;
  private static final int PREFILTER_NARROW_WORDS = 1 << 18;
  private static final int EVENT_RING_BYTES = 1 << 20;

  public static final MapDefinition CONNTRACK4_TCP =
      conntrack("conntrack4_tcp", false, CONNTRACK_TCP_MAX_ENTRIES);
  public static final MapDefinition CONNTRACK4_ANY =
      conntrack("conntrack4_any", false, CONNTRACK_ANY_MAX_ENTRIES);
  public static final MapDefinition CONNTRACK6_TCP =
      conntrack("conntrack6_tcp", true, CONNTRACK_TCP_MAX_ENTRIES);
  public static final MapDefinition CONNTRACK6_ANY =
      conntrack("conntrack6_any", true, CONNTRACK_ANY_MAX_ENTRIES);

  public static final MapDefinition FRAGMENTS4 =
      MapDefinition.of(
              "fragments4",
              MapType.LRU_HASH,
              Fragment4KeyFlyweight.STRUCT,
              FragmentEntryFlyweight.STRUCT,
              FRAGMENT_MAX_ENTRIES)
          .withText(MapFormats.FRAGMENTS4, MirrorMode.ON_AGE);
  public static final MapDefinition FRAGMENTS6 =
      MapDefinition.of(
              "fragments6",
              MapType.LRU_HASH,
              Fragment6KeyFlyweight.STRUCT,
              FragmentEntryFlyweight.STRUCT,
              FRAGMENT_MAX_ENTRIES)
          .withText(MapFormats.FRAGMENTS6, MirrorMode.ON_AGE);

  public static final MapDefinition IPCACHE4 =
      MapDefinition.of(
              "ipcache4",
              MapType.LPM_TRIE,
              Ipcache4KeyFlyweight.STRUCT,
              IpcacheEntryFlyweight.STRUCT,
              IPCACHE_MAX_ENTRIES)
          .withFlags(NO_PREALLOC)
          .withText(MapFormats.IPCACHE4, MirrorMode.ON_CHANGE);
  public static final MapDefinition IPCACHE6 =
      MapDefinition.of(
              "ipcache6",
              MapType.LPM_TRIE,
              Ipcache6KeyFlyweight.STRUCT,
              IpcacheEntryFlyweight.STRUCT,
              IPCACHE_MAX_ENTRIES)
          .withFlags(NO_PREALLOC)
          .withText(MapFormats.IPCACHE6, MirrorMode.ON_CHANGE);

  public static final MapDefinition ENDPOINTS =
      MapDefinition.of(
              "endpoints", MapType.ARRAY, null, EndpointEntryFlyweight.STRUCT, ENDPOINTS_MAX)
          .withText(MapFormats.ENDPOINTS, MirrorMode.JOURNALLED);
  public static final MapDefinition GENERATIONS =
      MapDefinition.of("generations", MapType.ARRAY, null, null, ENDPOINTS_MAX)
          .withFlags(MMAPABLE)
          .withText(MapFormats.GENERATIONS, MirrorMode.DIRECT);

  /** The shape of every endpoint's policy map; see {@link #policy(int)}. */
  public static final MapDefinition POLICY =
      MapDefinition.of(
              "policy_map",
              MapType.LPM_TRIE,
              PolicyKeyFlyweight.STRUCT,
              PolicyEntryFlyweight.STRUCT,
              POLICY_MAP_MAX_ENTRIES)
          .withFlags(NO_PREALLOC)
          .withText(MapFormats.POLICY, MirrorMode.JOURNALLED);

  public static final MapDefinition POLICIES =
      MapDefinition.of("policies", MapType.ARRAY_OF_MAPS, null, null, ENDPOINTS_MAX)
          .withText(MapFormats.POLICIES, MirrorMode.DIRECT);
  public static final MapDefinition METRICS =
      MapDefinition.of(
              "metrics",
              MapType.PERCPU_ARRAY,
              null,
              MetricsEntryFlyweight.STRUCT,
              METRICS_MAX_ENTRIES)
          .withText(MapFormats.METRICS, MirrorMode.ON_AGE);

  public static final MapDefinition PREFILTER4 =
      MapDefinition.of(
              "prefilter4",
              MapType.LPM_TRIE,
              Prefilter4KeyFlyweight.STRUCT,
              PrefilterEntryFlyweight.STRUCT,
              PREFILTER_MAX_ENTRIES)
          .withFlags(NO_PREALLOC)
          .withText(MapFormats.PREFILTER4, MirrorMode.ON_CHANGE);
  public static final MapDefinition PREFILTER6 =
      MapDefinition.of(
              "prefilter6",
              MapType.LPM_TRIE,
              Prefilter6KeyFlyweight.STRUCT,
              PrefilterEntryFlyweight.STRUCT,
              PREFILTER_MAX_ENTRIES)
          .withFlags(NO_PREALLOC)
          .withText(MapFormats.PREFILTER6, MirrorMode.ON_CHANGE);
  public static final MapDefinition PREFILTER4_CELLS =
      cells("prefilter4_cells", PREFILTER_CELL_WORDS);
  public static final MapDefinition PREFILTER6_WIDE_CELLS =
      cells("prefilter6_wide_cells", PREFILTER_CELL_WORDS);
  public static final MapDefinition PREFILTER6_NARROW_CELLS =
      cells("prefilter6_narrow_cells", PREFILTER_NARROW_WORDS);

  public static final MapDefinition EVENTS =
      MapDefinition.of("events", MapType.RINGBUF, null, null, EVENT_RING_BYTES).withSizes(0, 0);
  public static final MapDefinition EVENTS_LOST =
      MapDefinition.of("events_lost", MapType.PERCPU_ARRAY, null, null, 1)
          .withSizes(Integer.BYTES, Long.BYTES)
          .withText(MapFormats.EVENTS_LOST, MirrorMode.ON_AGE);

  /** All of them, the policy maps of endpoints aside. */
  public static final List<MapDefinition> ALL =
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

  private NodeMaps() {}

  /** The policy map of one endpoint, {@code policy_00012}. */
  public static MapDefinition policy(int endpointId) {
    return POLICY.withName("policy_%05d".formatted(endpointId));
  }

  private static MapDefinition conntrack(String name, boolean ipv6, int maxEntries) {
    return MapDefinition.of(
            name,
            MapType.LRU_HASH,
            ipv6 ? Conntrack6KeyFlyweight.STRUCT : Conntrack4KeyFlyweight.STRUCT,
            ConntrackEntryFlyweight.STRUCT,
            maxEntries)
        .withText(ipv6 ? MapFormats.CONNTRACK6 : MapFormats.CONNTRACK4, MirrorMode.ON_AGE);
  }

  private static MapDefinition cells(String name, int words) {
    return MapDefinition.of(name, MapType.ARRAY, null, null, words)
        .withSizes(Integer.BYTES, Long.BYTES)
        .withFlags(MMAPABLE)
        .withText(MapFormats.CELLS, MirrorMode.DIRECT);
  }
}
