package agent.conntrack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.MappedMemory;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.Conntrack4Map;
import agent.maps.kernel.FlowUsageArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.layout.ConntrackFlag;
import agent.maps.layout.ConntrackTable;
import agent.maps.layout.FlowUsageFlyweight;
import agent.testkit.HeapAllocation;
import agent.testkit.KernelTest;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The entries of each endpoint, counted by the program of the sweeps. */
@KernelTest
class EndpointSharesKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("conntrack_gc");
  private static final List<ConntrackTable> ALL = List.of(ConntrackTable.values());
  private static final int CAPACITY = 400;
  private static final int TCP4 = ConntrackTable.TCP4.number();
  private static final int NODE = FlowUsageArray.NODE;
  private static final int ALICE = 7;
  private static final int BOB = 300;
  private static final int SHARD = 4242; // of an outside address
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long INTERVAL_NS = 60 * SECOND_NS;

  private final List<BpfMap> maps = new ArrayList<>();
  private final BpfMap tcp4 = create(MapCatalog.CONNTRACK4_TCP);
  private final BpfMap any4 = create(MapCatalog.CONNTRACK4_ANY);
  private final BpfMap overflow4 = create(MapCatalog.CONNTRACK4_OVERFLOW);
  private final BpfMap flowUsage = BpfMap.create(SHIPPED.get(MapCatalog.FLOW_USAGE), "");
  private BpfObject object;
  private ProgramSweeper sweeper;
  private FlowUsageArray usage;
  private EndpointShares shares;
  private ConntrackGc gc;
  private long nowNs;

  @BeforeEach
  void load() throws Exception {
    LibBpf.ensureLoaded();
    try (InputStream elf = getClass().getResourceAsStream("/bpf/conntrack_gc.bpf.o")) {
      object = BpfObject.open(elf.readAllBytes(), "conntrack_gc");
    }
    create(MapCatalog.CONNTRACK6_TCP);
    create(MapCatalog.CONNTRACK6_ANY);
    create(MapCatalog.CONNTRACK6_OVERFLOW);
    for (final BpfMap map : maps) {
      object.setMaxEntries(map.name(), 1024);
      object.reuseMap(map.name(), map.fd());
    }
    object.reuseMap(flowUsage.name(), flowUsage.fd());
    object.load();
    sweeper = new ProgramSweeper(object.program("conntrack_sweep"));
    usage = new FlowUsageArray(flowUsage);
    shares = new EndpointShares(usage, CAPACITY, CAPACITY);
    gc = new ConntrackGc(sweeper, shares, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
  }

  @AfterEach
  void close() {
    shares.close();
    sweeper.close();
    object.close();
    maps.forEach(BpfMap::close);
    flowUsage.close();
  }

  @Test
  void shouldCountAnEntryForTheInitiatorOrElseForTheEndpointOfTheOtherSide() {
    final int highInitiator = ConntrackFlag.INITIATOR_HIGH.number();
    final int lowOutside = ConntrackFlag.OUTSIDE_LOW.number();
    final int highOutside = ConntrackFlag.OUTSIDE_HIGH.number();
    put(tcp4, 1, ALICE, BOB, 0);
    put(tcp4, 2, ALICE, BOB, highInitiator);
    put(tcp4, 3, ALICE, SHARD, highOutside);
    put(tcp4, 4, ALICE, SHARD, highOutside | highInitiator);
    put(tcp4, 5, SHARD, BOB, lowOutside);
    put(tcp4, 6, SHARD, BOB, lowOutside | highInitiator);
    put(tcp4, 7, SHARD, SHARD + 1, lowOutside | highOutside); // of no endpoint
    round();
    assertEquals(3, usage.entries(ALICE, TCP4));
    assertEquals(3, usage.entries(BOB, TCP4));
    assertEquals(7, usage.entries(NODE, TCP4));
    assertEquals(0, usage.entries(SHARD, TCP4));
    assertEquals(0, usage.entries(SHARD + 1, TCP4));
    assertEquals(0, usage.entries(ALICE, ConntrackTable.ANY4.number()));
  }

  @Test
  void shouldCountTheEntriesOfEachTableApart() {
    put(tcp4, 1, ALICE, BOB, 0);
    put(any4, 1, ALICE, BOB, 0);
    put(any4, 2, ALICE, BOB, 0);
    put(overflow4, 3, ALICE, BOB, 0);
    round();
    assertEquals(1, usage.entries(ALICE, TCP4));
    assertEquals(2, usage.entries(ALICE, ConntrackTable.ANY4.number()));
    assertEquals(2, usage.entries(NODE, ConntrackTable.ANY4.number()));
  }

  @Test
  void shouldForgetEntriesThatExpired() {
    for (int port = 0; port < 10; port++) {
      put(tcp4, port, ALICE, BOB, 0);
    }
    put(tcp4, 10, BOB, ALICE, 0);
    round();
    assertEquals(10, usage.entries(ALICE, TCP4));
    for (int port = 0; port < 10; port++) {
      put(tcp4, port, ALICE, BOB, 0, 1);
    }
    round();
    assertEquals(0, usage.entries(ALICE, TCP4));
    assertEquals(1, usage.entries(BOB, TCP4));
    assertEquals(1, usage.entries(NODE, TCP4));
  }

  /** What the programs count between two sweeps is added to what the last one has left. */
  @Test
  void shouldAddWhatTheProgramsOpenSince() {
    put(tcp4, 1, ALICE, BOB, 0);
    openByProgram(ALICE, 5);
    round();
    assertEquals(1, usage.entries(ALICE, TCP4), "of the five, none is in the table");
    openByProgram(ALICE, 2);
    assertEquals(3, usage.entries(ALICE, TCP4));
    assertEquals(3, usage.entries(NODE, TCP4));
  }

  @Test
  void shouldCountOnceAtTheStartAndThenWhenAQuarterOfATableWasOpened() {
    put(tcp4, 1, ALICE, BOB, 0);
    assertEquals(1, gc.doWork(), "the table of the previous run");
    for (int i = 1; i < ALL.size(); i++) {
      assertEquals(1, gc.doWork());
    }
    assertEquals(0, gc.doWork());
    openByProgram(ALICE, CAPACITY / 4);
    nowNs += SECOND_NS;
    assertEquals(0, gc.doWork());
    openByProgram(ALICE, 1);
    nowNs--;
    assertEquals(0, gc.doWork(), "a second after the last round at the earliest");
    nowNs++;
    for (int i = 0; i < ALL.size(); i++) {
      assertEquals(1, gc.doWork());
    }
    assertEquals(0, gc.doWork());
    assertEquals(2, gc.counters().sweeps(ConntrackTable.TCP4));
    assertEquals(1, usage.entries(ALICE, TCP4));
  }

  @Test
  void shouldNameTheEndpointsThatOverflowUntilARoundFindsNoFurtherFlow() {
    round();
    assertEquals("", shares.overflowing());
    overflowByProgram(ALICE, 3);
    overflowByProgram(BOB, 1);
    assertEquals("endpoint 7 (3 flows), endpoint 300 (1 flows)", shares.overflowing());
    assertEquals(4, shares.overflowed());
    round();
    assertEquals("", shares.overflowing());
    assertEquals(4, shares.overflowed());
    overflowByProgram(BOB, 2);
    assertEquals("endpoint 300 (2 flows)", shares.overflowing());
    assertEquals("", new EndpointShares(usage, CAPACITY, CAPACITY).overflowing(), "a restart");
    shares.close();
    assertEquals("", shares.overflowing(), "the API may still ask");
    assertEquals(0, shares.overflowed());
    usage = new FlowUsageArray(flowUsage);
    shares = new EndpointShares(usage, CAPACITY, CAPACITY);
  }

  @Test
  void shouldCloseTheOverflowWhenASweepFindsItEmpty() {
    overflowByProgram(ALICE, 1);
    put(overflow4, 1, ALICE, BOB, 0);
    round();
    assertTrue(usage.isOverflowUsed());
    put(overflow4, 1, ALICE, BOB, 0, 1);
    round();
    assertFalse(usage.isOverflowUsed());
    assertEquals(0, overflow4.countEntries());
    overflowByProgram(ALICE, 1);
    assertTrue(usage.isOverflowUsed());
  }

  /** A sweep that fails has counted nothing. */
  @Test
  void shouldKeepTheOverflowOpenWhereItsSweepFails() {
    overflowByProgram(ALICE, 1);
    final ConntrackGc failing =
        new ConntrackGc(
            (table, watches, result) ->
                table == ConntrackTable.OVERFLOW6.number()
                    ? -Errno.ENOMEM
                    : sweeper.sweep(table, watches, result),
            shares,
            ConntrackGc.Watch.NONE,
            ALL,
            () -> nowNs,
            INTERVAL_NS);
    for (int i = 0; i < ALL.size(); i++) {
      failing.doWork();
    }
    assertTrue(usage.isOverflowUsed());
  }

  @Test
  void shouldReserveWhatTheKernelKeepsFree() {
    assertEquals(1_000_000 - 62_500 - 3 * 128, EndpointShares.capacity(1_000_000, 2));
    assertEquals(262_144 - 16_384 - 65 * 128, EndpointShares.capacity(262_144, 64));
    assertEquals(512, EndpointShares.capacity(1024, 64));
  }

  @Test
  void shouldAllocateNothing() {
    put(tcp4, 1, ALICE, BOB, 0);
    final Runnable work =
        () -> {
          nowNs += INTERVAL_NS;
          gc.doWork();
        };
    assertEquals(0, HeapAllocation.steady(500, work));
  }

  private void round() {
    nowNs += INTERVAL_NS;
    for (int i = 0; i < ALL.size(); i++) {
      assertEquals(1, gc.doWork());
    }
  }

  /** Counts as the programs do. */
  private void openByProgram(int endpointId, int flows) {
    add(endpointId, FlowUsageFlyweight.OPENED_OFFSET, flows);
    add(NODE, FlowUsageFlyweight.OPENED_OFFSET, flows);
  }

  private void overflowByProgram(int endpointId, int flows) {
    add(endpointId, FlowUsageFlyweight.OVERFLOWED_OFFSET, flows);
    add(NODE, FlowUsageFlyweight.OVERFLOWED_OFFSET, flows);
  }

  private void add(int index, int field, int count) {
    final int length = flowUsage.maxEntries() * FlowUsageFlyweight.LENGTH;
    try (MappedMemory memory = MappedMemory.map(flowUsage.fd(), 0, length, true)) {
      new UnsafeBuffer(memory.address(), length)
          .getAndAddInt(index * FlowUsageFlyweight.LENGTH + field, count);
    }
  }

  private BpfMap create(MapProperties map) {
    final BpfMap created = BpfMap.create(SHIPPED.get(map).withMaxEntries(1024), "");
    maps.add(created);
    return created;
  }

  private static void put(BpfMap map, int port, int low, int high, int flags) {
    put(map, port, low, high, flags, Long.MAX_VALUE);
  }

  private static void put(BpfMap map, int port, int low, int high, int flags, long expiresNs) {
    final Conntrack4Map table = new Conntrack4Map(map);
    table.foundKey().clear().protocol(6);
    table.foundKey().lowAddress(0x0a000001).lowPort(port).highAddress(0x0a000002).highPort(80);
    table.found().clear().expiresNs(expiresNs).party(0, low).party(1, high).flags(flags);
    assertEquals(0, table.put());
  }
}
