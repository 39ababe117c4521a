package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.TcFilter;
import agent.bindings.bpf.XdpMode;
import agent.bindings.net.NetworkDevice;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.programs.scenario.DeviceMap;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.TcMode;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.PrefilterTables;
import agent.maps.kernel.PrefilterWords;
import agent.maps.layout.PrefilterTable;
import agent.testkit.BestTime;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.Ping;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The host program, the prefilter program and the prefilter list are repaired. */
@KernelTest
class DeviceGuardKernelTest {
  private static final String DEVICE = "up0";
  private static final String LISTED = "192.0.2.2";

  /** A device that is made again is filtered within this time. */
  private static final Duration FILTERED_WITHIN = Duration.ofSeconds(5);

  private static final Duration FILTERED_AT_ALL = Duration.ofMinutes(2);

  private ManagerTestNode node;
  private NetworkNamespace outside;
  private DatapathManager manager;
  private GuardWatch watch;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    outside = NetworkNamespace.create("out");
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    addAddresses();
  }

  private void addAddresses() {
    node.namespace().exec("ip", "address", "add", "192.0.2.1/24", "dev", DEVICE);
    outside.exec("ip", "address", "add", LISTED + "/24", "dev", "net0");
  }

  @AfterEach
  void remove() throws IOException {
    if (manager != null) {
      manager.close();
    }
    outside.close();
    node.close();
  }

  private void launch(TcMode mode) {
    manager =
        node.launch(
            node.context()
                .tcMode(mode)
                .devices(Map.of(DEVICE, VethPair.index(node.namespace(), DEVICE)))
                .prefilterDevice(DEVICE)
                .prefilterMode(PrefilterMode.GENERIC));
    watch = new GuardWatch(manager);
    assertTrue(isServed(5000));
    manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/25")));
    assertFalse(isServed(300), "denied before");
  }

  private boolean isServed(int timeoutMs) {
    return Ping.isAnswered(outside, "192.0.2.1", timeoutMs);
  }

  private Path pin(String program) {
    return node.bpfRoot().resolve("agent/devices").resolve(DEVICE).resolve(program);
  }

  private BpfMap opened(String name) {
    final Path pin = node.bpfRoot().resolve("agent/maps").resolve(name);
    return BpfMap.adopt(
        BpfFileSystem.open(pin),
        manager.maps().find(name).orElseThrow().definition(),
        pin.toString());
  }

  private void assertClosedAndRight() {
    assertFalse(isServed(300));
    watch.awaitRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairTheDevicesByWhichFlowsMayBypassTheStack() throws Exception {
    launch(TcMode.AUTO);
    final int foreign = 4711;
    try (BpfMap map = opened("devices")) {
      final DeviceMap devices = new DeviceMap(map);
      assertEquals(0, devices.remove(ifindex()), "a guarded device has an entry");
      assertEquals(0, devices.add(foreign, 0, 0, 0));
      watch.awaitRepair(Kind.MAP_ENTRY, 2);
      watch.awaitRight();
      assertEquals(-Errno.ENOENT, devices.remove(foreign));
      ManagerTestNode.await(manager.devices().guard(Map.of()));
      assertEquals(0, map.countEntries(), "an entry ends with the program");
      ManagerTestNode.await(manager.devices().guard(Map.of(DEVICE, ifindex())));
      assertEquals(1, map.countEntries());
      assertEquals(0, devices.add(foreign, 0, 0, 0));
    }
    manager.close();
    manager = node.launch(node.context().devices(Map.of(DEVICE, ifindex())));
    watch = new GuardWatch(manager);
    try (BpfMap map = opened("devices")) {
      assertEquals(1, map.countEntries(), "a start removes what is not guarded any more");
    }
    watch.awaitRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldAttachThePrefilterAgainAfterItsLinkWasDetachedOrItsPinRemoved() throws IOException {
    launch(TcMode.AUTO);
    try (BpfLink link = BpfLink.openPinned(pin("prefilter_generic")).orElseThrow()) {
      link.detach();
    }
    watch.awaitRepair(Kind.LINK, 1);
    assertClosedAndRight();
    Files.delete(pin("prefilter_generic"));
    assertFalse(isServed(300), "the removal of a pin detaches nothing");
    watch.awaitRepair(Kind.LINK, 2);
    assertTrue(Files.exists(pin("prefilter_generic")));
    assertClosedAndRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFailWhileAnotherXdpProgramIsAttachedInItsPlace() throws Exception {
    launch(TcMode.AUTO);
    final int ifindex = ifindex();
    final BpfLink taken;
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject foreign = BpfObject.open(in.readAllBytes(), "foreign");
        BpfLink link = BpfLink.openPinned(pin("prefilter_generic")).orElseThrow()) {
      foreign.load();
      taken =
          node.namespace()
              .run(
                  () -> {
                    link.detach();
                    return BpfLink.createXdp(
                        foreign.program("trivial_xdp"), ifindex, XdpMode.GENERIC);
                  });
    }
    watch.awaitLevel(Level.STOPPED);
    watch.awaitMessage("another XDP program is attached");
    assertEquals(ifindex, taken.info().ifindex(), "the foreign program is still attached");
    taken.close();
    watch.awaitRepair(Kind.LINK, 1);
    assertClosedAndRight();
  }

  /** What has the name of the device is filtered, whatever its index is. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFilterADeviceThatIsDeletedAndMadeAgain() throws Exception {
    launch(TcMode.AUTO);
    for (int i = 0; i < 2; i++) {
      BestTime.assertWithin(FILTERED_WITHIN, "a device that is made again", this::makeAgain);
    }
  }

  /** Returns how long it takes until the device that is made again is filtered. */
  private Duration makeAgain() throws Exception {
    final int before = ifindex();
    node.namespace().exec("ip", "link", "delete", DEVICE);
    VethPair.create(node.namespace(), DEVICE, outside, "net0");
    addAddresses();
    assertFalse(before == ifindex());
    final long startNs = System.nanoTime();
    while (!Files.exists(pin("prefilter_generic")) || isServed(100)) {
      assertTrue(System.nanoTime() - startNs < FILTERED_AT_ALL.toNanos(), "not filtered");
    }
    final Duration took = Duration.ofNanos(System.nanoTime() - startNs);
    assertFalse(isServed(300));
    return took;
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldStartWhileAnotherXdpProgramIsAttachedAndFilterOnceItIsGone() throws Exception {
    final int ifindex = ifindex();
    final BpfLink taken = attachForeign(ifindex);
    manager =
        node.launch(
            node.context()
                .devices(Map.of(DEVICE, ifindex))
                .prefilterDevice(DEVICE)
                .prefilterMode(PrefilterMode.GENERIC));
    watch = new GuardWatch(manager);
    watch.awaitLevel(Level.STOPPED);
    watch.awaitMessage("another XDP program is attached");
    manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/25")));
    assertTrue(isServed(5000), "the foreign program is left alone");
    assertEquals(ifindex, taken.info().ifindex());
    taken.close();
    watch.awaitLevel(Level.OK);
    assertFalse(isServed(300));
  }

  private BpfLink attachForeign(int ifindex) throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject foreign = BpfObject.open(in.readAllBytes(), "foreign")) {
      foreign.load();
      return node.namespace()
          .run(() -> BpfLink.createXdp(foreign.program("trivial_xdp"), ifindex, XdpMode.GENERIC));
    }
  }

  /** The first attempt to attach to it fails. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldFilterADeviceThatIsMadeAgainOnceAnotherXdpProgramIsGone() throws Exception {
    launch(TcMode.AUTO);
    node.namespace().exec("ip", "link", "delete", DEVICE);
    VethPair.create(node.namespace(), "new0", outside, "net0");
    final BpfLink taken = attachForeign(VethPair.index(node.namespace(), "new0"));
    node.namespace().exec("ip", "link", "set", "new0", "down");
    node.namespace().exec("ip", "link", "set", "new0", "name", DEVICE);
    node.namespace().exec("ip", "link", "set", DEVICE, "up");
    addAddresses();
    watch.awaitMessage("another XDP program is attached");
    assertTrue(isServed(5000), "the foreign program is left alone");
    taken.close();
    final long startNs = System.nanoTime();
    while (isServed(100)) {
      assertTrue(System.nanoTime() - startNs < FILTERED_AT_ALL.toNanos(), "not filtered");
    }
    assertFalse(isServed(300));
  }

  private int ifindex() throws Exception {
    return node.namespace().run(() -> NetworkDevice.index(DEVICE));
  }

  private static Stream<Arguments> hostHooks() {
    return ManagerTestNode.tcModes().stream()
        .flatMap(
            mode ->
                Stream.of("from_network", "to_network")
                    .map(program -> Arguments.of(mode, program)));
  }

  private static String side(String program) {
    return program.equals("from_network") ? "ingress" : "egress";
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("hostHooks")
  void shouldAttachAHostProgramAgain(TcMode mode, String program) throws Exception {
    launch(mode);
    detach(mode, program);
    watch.awaitRepair(Kind.LINK, 1);
    assertAttached(mode, program);
    assertClosedAndRight();
  }

  private void detach(TcMode mode, String program) {
    if (mode == TcMode.TCX) {
      try (BpfLink link = BpfLink.openPinned(pin(program)).orElseThrow()) {
        link.detach();
      }
    } else {
      node.namespace().exec("tc", "filter", "del", "dev", DEVICE, side(program));
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldAttachAHostProgramAgainToADeviceWhoseAddressHasChanged() throws Exception {
    final TcMode mode = ManagerTestNode.tcModes().getFirst();
    launch(mode);
    node.namespace().ip("link set " + DEVICE + " address 02:00:00:00:00:99");
    LockSupport.parkNanos(Duration.ofSeconds(4).toNanos()); // a comparison follows within two
    detach(mode, "from_network");
    watch.awaitRepair(Kind.LINK, 1);
    assertAttached(mode, "from_network");
    assertClosedAndRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldAttachTheHostProgramsAgainAfterTheirQdiscWasDeleted() throws Exception {
    launch(TcMode.CLSACT);
    node.namespace().deleteClsact(DEVICE);
    watch.awaitRepair(Kind.LINK, 2);
    assertAttached(TcMode.CLSACT, "from_network");
    assertAttached(TcMode.CLSACT, "to_network");
    assertClosedAndRight();
  }

  private void assertAttached(TcMode mode, String program) throws Exception {
    if (mode == TcMode.TCX) {
      try (BpfLink link = BpfLink.openPinned(pin(program)).orElseThrow()) {
        assertEquals(ifindex(), link.info().ifindex());
      }
    } else {
      final String filters =
          node.namespace().exec("tc", "filter", "show", "dev", DEVICE, side(program));
      assertTrue(filters.contains(program), filters);
    }
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("hostHooks")
  void shouldReportAForeignProgramBeforeAHostProgram(TcMode mode, String program) throws Exception {
    launch(mode);
    final boolean isIngress = program.equals("from_network");
    final int ifindex = ifindex();
    try (InputStream in = getClass().getResourceAsStream("/bpf/trivial.bpf.o");
        BpfObject foreign = BpfObject.open(in.readAllBytes(), "foreign")) {
      foreign.load();
      final BpfProgram first = foreign.program("trivial_tc");
      if (mode == TcMode.TCX) {
        moveBefore(program, isIngress, ifindex, first);
      } else {
        failBehind(program, new TcFilter(ifindex, isIngress, 1, 7), first);
      }
    }
    assertClosedAndRight();
  }

  private void moveBefore(String program, boolean isIngress, int ifindex, BpfProgram foreign)
      throws Exception {
    final HookProbe probe = new HookProbe();
    try (BpfLink first =
        node.namespace().run(() -> BpfLink.createTcxFirst(foreign, ifindex, isIngress))) {
      watch.awaitMessage(program);
      watch.awaitMessage("'trivial_tc'");
      watch.awaitRepair(Kind.PROGRAM_ORDER, 1);
      assertEquals(2, node.namespace().run(() -> probe.readTcx(ifindex, isIngress)));
      try (BpfLink moved = BpfLink.openPinned(pin(program)).orElseThrow()) {
        assertEquals(moved.info().programId(), probe.tcxProgramId(0));
      }
      assertEquals(ifindex, first.info().ifindex(), "the foreign program is still attached");
      first.detach();
    }
  }

  private void failBehind(String program, TcFilter before, BpfProgram foreign) throws Exception {
    node.namespace()
        .run(
            () -> {
              before.update(foreign);
              return null;
            });
    watch.awaitLevel(Level.STOPPED);
    watch.awaitMessage("a filter of priority 7");
    watch.awaitMessage(program);
    assertTrue(node.namespace().run(before::info).isPresent(), "it is not removed");
    node.namespace()
        .run(
            () -> {
              before.detach();
              return null;
            });
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairTheTablesOfTheList() {
    launch(TcMode.AUTO);
    for (final String name : List.of("prefilter_list", "prefilter4_table", "prefilter6_table")) {
      final long before = watch.repairs(Kind.MAP_ENTRY);
      try (BpfMap map = table(name);
          PrefilterWords words = new PrefilterWords(map)) {
        final int[] changed = {0, words.count() / 2, words.count() - 1};
        final long[] right = IntStream.of(changed).mapToLong(words::word).toArray();
        for (final int i : changed) {
          words.word(i, ~words.word(i));
        }
        watch.awaitRepair(Kind.MAP_ENTRY, before + changed.length);
        assertArrayEquals(right, IntStream.of(changed).mapToLong(words::word).toArray(), name);
      }
      assertClosedAndRight();
    }
  }

  /** While a slot is empty, the sources under its cells are dropped. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldPutATableThatWasReplacedOrRemovedIntoItsSlotAgain() {
    launch(TcMode.AUTO);
    final int right = table("prefilter4_table").description().id();
    try (BpfMap slots = opened("prefilter_tables");
        BpfMap other = table("prefilter6_table")) {
      final PrefilterTables tables = new PrefilterTables(slots);
      assertEquals(0, tables.set(PrefilterTable.IPV4, other.fd()));
      watch.awaitRepair(Kind.MAP_ENTRY, 1);
      assertEquals(right, tables.mapId(PrefilterTable.IPV4));
      final EntryBuffer slot = new EntryBuffer(slots);
      slot.key().putInt(0, PrefilterTable.IPV4.number());
      assertEquals(0, slots.delete(slot));
      watch.awaitRepair(Kind.MAP_ENTRY, 2);
      assertEquals(right, tables.mapId(PrefilterTable.IPV4));
    }
    assertClosedAndRight();
  }

  private BpfMap table(String name) {
    final BpfMap found = manager.maps().find(name).orElseThrow();
    return BpfMap.adopt(MapCalls.openById(found.description().id()), found.definition(), "");
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairTheBitmapsOfTheList() {
    launch(TcMode.AUTO);
    try (BpfMap map = opened("prefilter4_cells");
        PrefilterWords cells = new PrefilterWords(map)) {
      int cleared = 0;
      for (int i = 0; i < map.maxEntries(); i++) {
        if (cells.word(i) != 0) {
          cells.word(i, 0);
          cleared++;
        }
      }
      assertTrue(cleared > 0);
      cells.word(7, -1); // denies addresses that are not on the list
      watch.awaitRepair(Kind.MAP_ENTRY, cleared + 1);
      assertEquals(0, cells.word(7));
    }
    assertClosedAndRight();
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void shouldRepairAListOfAHundredThousandPrefixesWithinTenSeconds() throws Exception {
    launch(TcMode.AUTO);
    final List<Prefix> deny = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      deny.add(Prefix.of(IpAddress.ofIpv4(0x0b000000 + (i << 8)), 24));
    }
    manager.prefilter().add(OptionalLong.empty(), deny);
    try (BpfMap map = table("prefilter4_table");
        PrefilterWords words = new PrefilterWords(map)) {
      BestTime.assertWithin(GuardWatch.LIMIT, "2000 changed words", () -> repair(words));
    }
    assertClosedAndRight();
    final long before = watch.repairs(Kind.MAP_ENTRY);
    final List<Prefix> half = deny.subList(0, 50_000);
    Stream.iterate(0, i -> i < 20, i -> i + 1)
        .forEach(
            i -> {
              manager.prefilter().remove(OptionalLong.empty(), half);
              manager.prefilter().add(OptionalLong.empty(), half);
            });
    assertEquals(before, watch.repairs(Kind.MAP_ENTRY), "changes of the agent are no differences");
    watch.awaitRight();
  }

  private Duration repair(PrefilterWords words) {
    watch.awaitRight();
    final long before = watch.repairs(Kind.MAP_ENTRY);
    final long startNs = System.nanoTime();
    for (int i = 0; i < 2000; i++) {
      words.word(i * 50, ~words.word(i * 50));
    }
    watch.awaitRepair(Kind.MAP_ENTRY, before + 2000);
    assertEquals(0, words.word(50));
    return Duration.ofNanos(System.nanoTime() - startNs);
  }
}
