package agent.conntrack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.Conntrack6Map;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.kernel.WatchedAddressMap;
import agent.maps.layout.ConntrackEntryFlyweight;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.ConntrackRewrite;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.io.InputStream;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class ConntrackSweepKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("conntrack_gc");
  private static final int CAPACITY = 16_384;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int WORKLOAD = 0x0a00_0001;
  private static final int NODE = 0xc000_0201;
  private static final int OUTSIDE = 0xc633_6407;
  private static final long MAPPED_WORKLOAD = 0xffff_0000_0000L | WORKLOAD;
  private static final long MAPPED_OUTSIDE = 0xffff_0000_0000L | Integer.toUnsignedLong(OUTSIDE);
  private static final long NOW_NS = 1_000_000_000_000L;
  private static final List<ConntrackTable> ALL = List.of(ConntrackTable.values());

  private final ConntrackSweepFlyweight result = new ConntrackSweepFlyweight();
  private final BpfMap tcp4 = create(MapCatalog.CONNTRACK4_TCP);
  private final BpfMap any4 = create(MapCatalog.CONNTRACK4_ANY);
  private final BpfMap tcp6 = create(MapCatalog.CONNTRACK6_TCP);
  private final BpfMap any6 = create(MapCatalog.CONNTRACK6_ANY);
  private final BpfMap overflow4 = create(MapCatalog.CONNTRACK4_OVERFLOW);
  private final BpfMap overflow6 = create(MapCatalog.CONNTRACK6_OVERFLOW);
  private final BpfMap flowUsage = BpfMap.create(SHIPPED.get(MapCatalog.FLOW_USAGE), "");
  private final BpfMap watched = BpfMap.create(SHIPPED.get(MapCatalog.WATCHED_ADDRESSES), "");
  private final List<BpfMap> maps = List.of(tcp4, any4, tcp6, any6, overflow4, overflow6);
  private BpfObject object;
  private ProgramSweeper sweeper;

  @BeforeEach
  void load() throws Exception {
    LibBpf.ensureLoaded();
    try (InputStream elf = getClass().getResourceAsStream("/bpf/conntrack_gc.bpf.o")) {
      object = BpfObject.open(elf.readAllBytes(), "conntrack_gc");
    }
    for (final BpfMap map : maps) {
      object.setMaxEntries(map.name(), CAPACITY);
      object.reuseMap(map.name(), map.fd());
    }
    object.reuseMap(flowUsage.name(), flowUsage.fd());
    object.reuseMap(watched.name(), watched.fd());
    object.load();
    sweeper = new ProgramSweeper(object.program("conntrack_sweep"));
  }

  @AfterEach
  void close() {
    sweeper.close();
    object.close();
    maps.forEach(BpfMap::close);
    flowUsage.close();
    watched.close();
  }

  @Test
  void shouldDeleteOnlyExpiredEntries() {
    fill4(tcp4, TCP, 3000, NOW_NS);
    fill4(tcp4, TCP, 1000, NOW_NS + 1, 3000);

    assertEquals(0, sweeper.sweep(ConntrackTable.TCP4.number(), false, NOW_NS, result));
    assertEquals(4000, result.visited());
    assertEquals(3000, result.deleted());
    assertEquals(1000, tcp4.countEntries());
    final Conntrack4Map left = new Conntrack4Map(tcp4);
    assertEquals(-Errno.ENOENT, left.find(0x0a000001, 2999, 0x0a000002, 80, TCP));
    assertEquals(0, left.find(0x0a000001, 3000, 0x0a000002, 80, TCP));
    assertEquals(NOW_NS + 1, left.found().expiresNs());
  }

  /** Each of the two entries of a masqueraded flow is in the others' way alone. */
  @Test
  void shouldDeleteTheEntriesOfMasqueradedFlowsWhoseOtherEntryIsGone() {
    masquerade4(1, true, true, 0);
    masquerade4(2, true, false, 0);
    masquerade4(3, false, true, 0);
    masquerade4(4, false, true, (int) (NOW_NS >> 30)); // its first leg is about to be written
    assertEquals(0, sweeper.sweep(ConntrackTable.ANY4.number(), false, NOW_NS, result));
    assertEquals(2, result.deleted());
    assertEquals(3, any4.countEntries());
    final Conntrack4Map left = new Conntrack4Map(any4);
    assertEquals(0, left.find(WORKLOAD, 1, OUTSIDE, 53, UDP));
    assertEquals(0, left.find(NODE, 1001, OUTSIDE, 53, UDP));
    assertEquals(0, left.find(NODE, 1004, OUTSIDE, 53, UDP));

    masquerade6(1, true, true);
    masquerade6(2, true, false);
    masquerade6(3, false, true);
    assertEquals(0, sweeper.sweep(ConntrackTable.ANY6.number(), false, NOW_NS, result));
    assertEquals(2, result.deleted());
    assertEquals(2, any6.countEntries());
  }

  /** The port of a flow whose second entry was evicted may be another flow's by now. */
  @Test
  void shouldDeleteAnEntryWhoseOtherEntryIsOfAnotherFlow() {
    masquerade4(1, true, true, 0);
    final Conntrack4Map table = new Conntrack4Map(any4);
    assertEquals(0, table.find(WORKLOAD, 1, OUTSIDE, 53, UDP));
    table.foundKey().lowPort(2);
    assertEquals(0, table.put());
    assertEquals(0, sweeper.sweep(ConntrackTable.ANY4.number(), false, NOW_NS, result));
    assertEquals(1, result.deleted());
    assertEquals(-Errno.ENOENT, table.find(WORKLOAD, 2, OUTSIDE, 53, UDP));
  }

  private void masquerade4(int port, boolean hasFirst, boolean hasSecond, int openedAt) {
    final Conntrack4Map table = new Conntrack4Map(any4);
    for (final boolean isFirst : new boolean[] {true, false}) {
      table.foundKey().clear().protocol(UDP).highAddress(OUTSIDE).highPort(53);
      table.foundKey().lowAddress(isFirst ? WORKLOAD : NODE).lowPort(isFirst ? port : 1000 + port);
      expire(table.found(), Long.MAX_VALUE);
      table.found().openedAt(openedAt);
      table.found().end().address((long) (isFirst ? NODE : WORKLOAD) << Integer.SIZE, 0);
      masqueraded(table.found(), isFirst, port);
      if (isFirst ? hasFirst : hasSecond) {
        assertEquals(0, table.put());
      }
    }
  }

  private void masquerade6(int port, boolean hasFirst, boolean hasSecond) {
    final Conntrack6Map table = new Conntrack6Map(any6);
    for (final boolean isFirst : new boolean[] {true, false}) {
      table.foundKey().clear().protocol(UDP).highAddress(OUTSIDE, 7).highPort(53);
      table.foundKey().lowAddress(isFirst ? WORKLOAD : NODE, isFirst ? 1 : 2);
      table.foundKey().lowPort(isFirst ? port : 1000 + port);
      expire(table.found(), Long.MAX_VALUE);
      table.found().end().address(isFirst ? NODE : WORKLOAD, isFirst ? 2 : 1);
      masqueraded(table.found(), isFirst, port);
      if (isFirst ? hasFirst : hasSecond) {
        assertEquals(0, table.put());
      }
    }
  }

  private static void masqueraded(ConntrackEntryFlyweight entry, boolean isFirst, int port) {
    final int answers = ConntrackRewrite.DESTINATION.number() | ConntrackRewrite.FROM_HIGH.number();
    entry
        .flags(ConntrackFlag.REWRITTEN.number())
        .rewrite(ConntrackRewrite.MASQUERADE.number() | (isFirst ? 0 : answers))
        .end()
        .port(isFirst ? 1000 + port : port);
  }

  /** A flow counts for the address that an endpoint has opened it to, while it is open. */
  @Test
  void shouldCountTheOpenFlowsOfEndpointsToWatchedAddresses() {
    final int outsideLow = ConntrackFlag.OUTSIDE_LOW.number();
    final int outsideHigh = ConntrackFlag.OUTSIDE_HIGH.number();
    final int highOpens = ConntrackFlag.INITIATOR_HIGH.number();
    final int eitherOpens = ConntrackFlag.DIRECTION_UNKNOWN.number();
    final int finLow = ConntrackFlag.SEEN_FIN_LOW.number();
    final int finHigh = ConntrackFlag.SEEN_FIN_HIGH.number();
    assertWatched(0, 1, outsideHigh);
    assertWatched(0, 1, outsideHigh | finLow);
    assertWatched(0, 1, outsideHigh | finHigh);
    assertWatched(0, 1, outsideHigh | ConntrackFlag.PROXIED.number());
    assertWatched(0, 1, outsideHigh | highOpens | eitherOpens);
    assertWatched(1, 0, highOpens);
    assertWatched(1, 1, eitherOpens);
    assertWatched(1, 0, outsideLow | highOpens);
    assertWatched(0, 0, outsideHigh | highOpens);
    assertWatched(0, 0, outsideLow | outsideHigh);
    assertWatched(0, 0, outsideHigh | finLow | finHigh);
    assertWatched(0, 0, outsideHigh | ConntrackFlag.SEEN_RST.number());
    assertWatched(0, 0, outsideHigh | ConntrackFlag.DENIED.number());

    final WatchedAddressMap addresses = new WatchedAddressMap(watched);
    addresses.add(0, MAPPED_OUTSIDE);
    flow4(outsideHigh, NOW_NS + 1);
    assertEquals(0, sweeper.sweep(ConntrackTable.TCP4.number(), false, NOW_NS, result));
    assertEquals(1, result.visited() - result.deleted());
    assertEquals(0, addresses.take(0, MAPPED_OUTSIDE), "not asked");
    addresses.add(0, MAPPED_OUTSIDE);
    flow4(outsideHigh, NOW_NS);
    assertEquals(0, sweeper.sweep(ConntrackTable.TCP4.number(), true, NOW_NS, result));
    assertEquals(0, addresses.take(0, MAPPED_OUTSIDE), "expired");
  }

  private void assertWatched(int toLow, int toHigh, int flags) {
    final WatchedAddressMap addresses = new WatchedAddressMap(watched);
    addresses.add(0, MAPPED_WORKLOAD);
    addresses.add(0, MAPPED_OUTSIDE);
    flow4(flags, NOW_NS + 1);
    assertEquals(0, sweeper.sweep(ConntrackTable.TCP4.number(), true, NOW_NS, result));
    final String shown = Integer.toString(flags);
    assertEquals(toLow, addresses.take(0, MAPPED_WORKLOAD), shown);
    assertEquals(toHigh, addresses.take(0, MAPPED_OUTSIDE), shown);
  }

  private void flow4(int flags, long expiresNs) {
    final Conntrack4Map table = new Conntrack4Map(tcp4);
    table.foundKey().clear().protocol(TCP).lowAddress(WORKLOAD).lowPort(1);
    table.foundKey().highAddress(OUTSIDE).highPort(443);
    expire(table.found(), expiresNs);
    table.found().flags(flags).party(0, 7).party(1, 8);
    assertEquals(0, table.put());
  }

  @Test
  void shouldCountTheFlowsOfEndpointsToWatchedAddressesOfIpv6() {
    final WatchedAddressMap addresses = new WatchedAddressMap(watched);
    for (int i = 1; i <= 3; i++) {
      addresses.add(OUTSIDE, i);
    }
    for (final BpfMap map : List.of(tcp6, any6, overflow6)) {
      final Conntrack6Map table = new Conntrack6Map(map);
      for (int i = 1; i <= 2; i++) {
        table.foundKey().clear().protocol(TCP).lowAddress(WORKLOAD, 7).lowPort(40_000 + i);
        table.foundKey().highAddress(OUTSIDE, i).highPort(443);
        expire(table.found(), Long.MAX_VALUE);
        table.found().flags(ConntrackFlag.OUTSIDE_HIGH.number()).party(0, 7).party(1, 8);
        assertEquals(0, table.put());
      }
    }
    for (final ConntrackTable table : ALL) {
      assertEquals(0, sweeper.sweep(table.number(), true, NOW_NS, result));
    }
    assertEquals(3, addresses.take(OUTSIDE, 1));
    assertEquals(3, addresses.take(OUTSIDE, 2));
    assertEquals(0, addresses.take(OUTSIDE, 3));
    assertEquals(0, watched.countEntries());
    assertThrows(BpfMapException.class, () -> addresses.take(OUTSIDE, 3));
  }

  @Test
  void shouldSweepOnlyTheRequestedTable() {
    fill4(tcp4, TCP, 10, 0);
    fill4(any4, UDP, 20, 0);
    fill6(tcp6, TCP, 30, 0);
    fill6(any6, UDP, 40, 0);
    fill4(overflow4, TCP, 50, 0);
    fill6(overflow6, UDP, 60, 0);

    for (int i = 0; i < ALL.size(); i++) {
      assertEquals((i + 1) * 10, maps.get(i).countEntries());
      assertEquals(0, sweeper.sweep(ALL.get(i).number(), false, NOW_NS, result));
      assertEquals((i + 1) * 10, result.deleted());
      assertEquals(0, maps.get(i).countEntries());
    }
  }

  @Test
  void shouldUseTheKernelClockWhereNoTimeIsGiven() {
    fill4(any4, UDP, 100, 1);
    fill4(any4, UDP, 50, Long.MAX_VALUE, 100);

    assertEquals(0, sweeper.sweep(ConntrackTable.ANY4.number(), false, result));
    assertEquals(100, result.deleted());
    assertTrue(Math.abs(result.nowNs() - System.nanoTime()) < 10_000_000_000L);
  }

  @Test
  void shouldRefuseAnUnknownTable() {
    assertEquals(-Errno.EINVAL, sweeper.sweep(ALL.size(), false, NOW_NS, result));
  }

  @Test
  void shouldCountTheEntriesOfARound() {
    fill4(tcp4, TCP, 400, 1);
    fill6(any6, UDP, 70, Long.MAX_VALUE);
    final long[] clockNs = {0};
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper,
            ConntrackGc.Usage.NONE,
            ConntrackGc.Watch.NONE,
            ALL,
            () -> clockNs[0],
            1_000_000_000L);
    clockNs[0] += 1_000_000_000L;
    for (int i = 0; i < ALL.size(); i++) {
      gc.doWork();
    }
    assertEquals(400, gc.counters().deleted(ConntrackTable.TCP4));
    assertEquals(0, gc.counters().entries(ConntrackTable.TCP4));
    assertEquals(70, gc.counters().entries(ConntrackTable.ANY6));
    assertEquals(0, gc.counters().deleted(ConntrackTable.ANY6));
  }

  @Test
  void shouldAllocateNothing() {
    fill4(tcp4, TCP, 50, Long.MAX_VALUE);
    final long[] clockNs = {0};
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper,
            ConntrackGc.Usage.NONE,
            ConntrackGc.Watch.NONE,
            ALL,
            () -> clockNs[0],
            1_000_000_000L);
    final Runnable work =
        () -> {
          clockNs[0] += 1_000_000_000L;
          gc.doWork();
        };

    assertEquals(0, HeapAllocation.steady(1_000, work));
    assertTrue(gc.counters().sweeps(ConntrackTable.TCP4) >= 1_000 / ALL.size());
  }

  private static BpfMap create(MapProperties map) {
    return BpfMap.create(SHIPPED.get(map).withMaxEntries(CAPACITY), "");
  }

  private static void fill4(BpfMap map, int protocol, int flows, long expiresNs) {
    fill4(map, protocol, flows, expiresNs, 0);
  }

  private static void fill4(BpfMap map, int protocol, int flows, long expiresNs, int firstPort) {
    final Conntrack4Map table = new Conntrack4Map(map);
    for (int i = 0; i < flows; i++) {
      table.foundKey().clear().protocol(protocol);
      table.foundKey().lowAddress(0x0a000001).lowPort(firstPort + i);
      table.foundKey().highAddress(0x0a000002).highPort(80);
      expire(table.found(), expiresNs);
      assertEquals(0, table.put());
    }
  }

  private static void fill6(BpfMap map, int protocol, int flows, long expiresNs) {
    final Conntrack6Map table = new Conntrack6Map(map);
    for (int i = 0; i < flows; i++) {
      table.foundKey().clear().protocol(protocol);
      table.foundKey().lowPort(i).highPort(80);
      expire(table.found(), expiresNs);
      assertEquals(0, table.put());
    }
  }

  private static void expire(ConntrackEntryFlyweight entry, long expiresNs) {
    entry.clear().expiresNs(expiresNs);
  }
}
