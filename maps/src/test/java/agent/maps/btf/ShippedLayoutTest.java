package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.MapSize;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.MetricsLayout;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.layout.RedirectKind;
import agent.maps.layout.SocketCounter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Java's layouts and maps against the objects that ship. */
class ShippedLayoutTest {
  private final Btf layouts = Btf.of(ShippedObjects.read("layouts"));

  /** Numbers of C that count what is in an enum of C. */
  @Test
  void shouldCountTheConstantsOfEnumsAsCDoes() {
    assertEquals(SocketCounter.values().length, MapSize.SOCKET_COUNTERS);
    assertEquals(MetricsDirection.values().length, MetricsLayout.DIRECTIONS);
    assertTrue(RedirectKind.values().length < MapSize.REDIRECT_KINDS);
  }

  /** What the text formats of {@link MapCatalog} read; empty: no type of its own. */
  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          conntrack4_tcp,          conntrack4_key, conntrack_entry
          conntrack4_any,          conntrack4_key, conntrack_entry
          conntrack6_tcp,          conntrack6_key, conntrack_entry
          conntrack6_any,          conntrack6_key, conntrack_entry
          conntrack4_overflow,     conntrack4_key, conntrack_entry
          conntrack6_overflow,     conntrack6_key, conntrack_entry
          flow_usage,              __u32,          flow_usage
          port_usage,              __u32,          port_usage
          endpoint_rates,          __u32,          endpoint_rates
          namespace_rates,         __u32,          endpoint_rates
          reject_rates,            __u32,          share_rate
          fragments4_overflow,     fragment4_key,  fragment_entry
          fragments6_overflow,     fragment6_key,  fragment_entry
          fragment_claims,         fragment6_key,  fragment_claim
          fragment_numbers,        fragment6_key,  __u32
          number_rates,            __u32,          share_rate
          datagram_numbers,        __u32,          __u32
          early_fragments,         __u32,          early_fragment
          early_owners,            __u32,          early_owner
          fragments4,              fragment4_key,  fragment_entry
          fragments6,              fragment6_key,  fragment_entry
          ipcache4,                ipcache4_key,   ipcache_entry
          ipcache6,                ipcache6_key,   ipcache_entry
          endpoints,               __u32,          endpoint_entry
          interfaces,              __u32,          interface_cell
          interfaces_overflow,     __u32,          __u32
          devices,                 __u32,          device_entry
          redirect_proxies,        __u32,          __u32
          redirect_sockets,        redirect_socket_key, redirect_socket
          redirect_rates,          __u32,          share_rate
          generations,             __u32,          __u64
          policies,                __u32,          ''
          metrics,                 __u32,          metrics_entry
          prefilter_tables,        __u32,          ''
          prefilter4_cells,        __u32,          __u64
          prefilter6_wide_cells,   __u32,          __u64
          prefilter6_narrow_cells, __u32,          __u64
          balancer_flows,          balancer_flow_key, balancer_flow
          services,                service_key,    service_entry
          service_gate,            __u32,          __u32
          service_slots,           service_slot_key, service_slot
          service_tables,          __u32,          service_table
          service_cells,           service_table_key, service_cells
          service_ends,            service_table_key, service_end
          service_backends,        service_backend_key, __u32
          service_affinities,      service_affinity_key, service_affinity
          socket_metrics,          __u32,          __u64
          events,                  '',             ''
          event_gate,              __u32,          __u32
          events_lost,             __u32,          __u64
          overflow_flows,          __u32,          ''
          judge_scratch,           __u32,          ''
          verdict_cache,           __u32,          ''
          """)
  void shouldDeclareTheTypesThatTheTextOfEachMapIsMadeOf(String map, String key, String value) {
    final BtfMap declared =
        BtfMap.of(layouts).stream()
            .filter(found -> found.name().equals(map))
            .findFirst()
            .orElseThrow();
    assertEquals(key + " / " + value, declared.keyName() + " / " + declared.valueName());
  }

  @Test
  void shouldKnowEveryMapThatTheHeadersDefine() {
    assertEquals(
        BtfMap.of(layouts).stream().map(BtfMap::name).sorted().toList(),
        MapCatalog.ALL.stream().map(MapProperties::name).sorted().toList());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "endpoint",
        "host",
        "prefilter",
        "balancer",
        "prefilter_balancer",
        "conntrack_gc",
        "socket",
        "socket_find",
        "socket_end",
        "proxy_filter"
      })
  void shouldDeclareEachMapAlikeInEveryObject(String object) {
    final List<BtfMap> inHeaders = BtfMap.of(layouts);
    final List<BtfMap> declared =
        BtfMap.of(Btf.of(ShippedObjects.read(object))).stream()
            .filter(map -> !MapType.isOfPrograms(map.type()))
            .toList();
    assertTrue(!declared.isEmpty() && inHeaders.containsAll(declared), declared.toString());
  }

  @Test
  void shouldReadTheShapesOfMapsAsLibbpfDoes() {
    final MapDefinitions shipped =
        MapDefinitions.of("endpoint", "prefilter", "balancer", "conntrack_gc", "socket");
    for (final BtfMap inC : BtfMap.of(layouts)) {
      final MapSpec read =
          shipped.all().stream()
              .map(MapDefinition::spec)
              .filter(spec -> spec.name().equals(inC.name()))
              .findFirst()
              .orElseThrow();
      final int valueSize = read.inner() == null ? inC.valueSize() : Integer.BYTES;
      assertEquals(
          MapSpec.of(
                  inC.type(), inC.name(), inC.keySize(), valueSize, inC.maxEntries(), inC.flags())
              .shape(),
          read.shape());
    }
    assertEquals(
        new MapSpec(
            MapType.LPM_TRIE,
            "policy_00012",
            PolicyKeyFlyweight.LENGTH,
            PolicyEntryFlyweight.LENGTH,
            MapSize.POLICY_MAP_MAX_ENTRIES,
            MapFlag.NO_PREALLOC,
            null),
        shipped.policy(12).spec());
  }

  @Test
  void shouldFindTheConfigurationOfPrograms() {
    final ElfObject object = ShippedObjects.read("endpoint");
    final DataSectionLayout rodata = DataSectionLayout.of(object, Btf.of(object), ".rodata");
    final List<String> names = new ArrayList<>();
    for (final DataSectionLayout.Location location : rodata.variables()) {
      names.add(location.name() + " " + location.typeName() + " " + location.size());
    }
    assertTrue(names.contains("node_config node_config 160"), names.toString());
    assertEquals(160, rodata.variable("node_config").size());
    assertTrue(rodata.variables().stream().noneMatch(it -> it.name().startsWith("endpoint")));
    assertTrue(rodata.has("node_config") && !rodata.has("absent"));
    assertThrows(BtfException.class, () -> rodata.variable("absent"));
  }

  @Test
  void shouldNameASectionThatIsMissing() {
    final ElfObject object = ShippedObjects.read("layouts");
    assertEquals(
        "ELF object: no section .absent",
        assertThrows(BtfException.class, () -> object.section(".absent")).getMessage());
    assertThrows(BtfException.class, () -> DataSectionLayout.of(object, Btf.of(object), ".absent"));
  }

  @Test
  void shouldRefuseWhatIsNoObject() {
    assertEquals(
        "ELF object: truncated, 3 bytes",
        assertThrows(BtfException.class, () -> ElfObject.parse(new byte[3])).getMessage());
    assertEquals(
        "ELF object: not a 64-bit ELF file",
        assertThrows(BtfException.class, () -> ElfObject.parse(new byte[64])).getMessage());
  }
}
