package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.libbpf.Libbpf;
import agent.conductor.ModuleHealth;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.Prefilter;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapWriteListener;
import agent.maps.kernel.PrefilterWords;
import agent.testkit.KernelTest;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs find a table of the prefilter only when it is complete; those before it are freed. */
@KernelTest
class PrefilterSlotsKernelTest {
  private static final String DEVICE = "up0";
  private static final List<String> NAMES =
      List.of("prefilter_list", "prefilter4_table", "prefilter6_table");
  private static final List<String> BITMAPS =
      List.of("prefilter4_cells", "prefilter6_wide_cells", "prefilter6_narrow_cells");

  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    VethPair.create(node.namespace(), DEVICE, node.namespace(), "net0");
    manager = node.launch(node.context().prefilterDevice(DEVICE));
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  /** What is so at each write of a slot. */
  private final class SlotWrites implements MapWriteListener {
    final List<Integer> ids = new CopyOnWriteArrayList<>();
    final List<Integer> words = new CopyOnWriteArrayList<>();
    final List<Integer> cells = new CopyOnWriteArrayList<>();

    SlotWrites(BpfMap slots) {
      slots.writeListener(this);
    }

    @Override
    public void onUpdate(BpfMap slots, DirectBuffer key, DirectBuffer value, int result) {
      final MapDescription table = MapDescription.of(value.getInt(0));
      ids.add(table.id());
      words.add(wordsOf(table.id()));
      cells.add(cells());
    }

    @Override
    public void onDelete(BpfMap slots, DirectBuffer key, int result) {}

    @Override
    public void onBulkWrite(BpfMap slots) {}
  }

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private List<Integer> tableIds() {
    return NAMES.stream().map(name -> map(name).description().id()).toList();
  }

  /** Returns how many words are not zero. */
  private static int wordsOf(int id) {
    final int fd = MapCalls.openById(id);
    try (BpfMap map = BpfMap.adopt(fd, MapDefinition.of(MapDescription.of(fd).spec()), "");
        PrefilterWords words = new PrefilterWords(map)) {
      int count = 0;
      for (int i = 0; i < words.count(); i++) {
        count += words.word(i) == 0 ? 0 : 1;
      }
      return count;
    }
  }

  private int cells() {
    return BITMAPS.stream().mapToInt(name -> wordsOf(map(name).description().id())).sum();
  }

  private static void assertFreed(List<Integer> ids) {
    for (final int id : ids) {
      final int fd = MapCalls.openById(id);
      if (fd >= 0) {
        Descriptors.close(fd);
      }
      assertEquals(-Errno.ENOENT, fd, "map " + id);
    }
  }

  private static List<Prefix> prefixes(int count) {
    final List<Prefix> prefixes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      prefixes.add(Prefix.of(IpAddress.ofIpv4(10 << 24 | i * 64), 27));
      prefixes.add(Prefix.of(IpAddress.ofIpv6(0xfd00_0001_0000_0000L + i, 0), 100));
    }
    return prefixes;
  }

  @Test
  void shouldPutATableIntoItsSlotWhenItIsCompleteAndFreeTheOneBeforeIt() {
    manager.prefilter().add(OptionalLong.empty(), prefixes(100));
    final List<Integer> before = tableIds();
    final int cellsBefore = cells();
    final SlotWrites written = new SlotWrites(map("prefilter_tables"));
    manager.prefilter().add(OptionalLong.empty(), prefixes(3000));
    assertEquals(tableIds(), written.ids);
    assertEquals(
        tableIds().stream().map(PrefilterSlotsKernelTest::wordsOf).toList(), written.words);
    assertEquals(List.of(cellsBefore, cellsBefore, cellsBefore), written.cells);
    assertNotEquals(cellsBefore, cells());
    assertFreed(before);
  }

  /** Where a change cannot be stored and cannot be undone, what the kernel enforces is compared. */
  @Test
  void shouldCompareWithTheRefusedListWhereItStaysInForce() throws IOException {
    manager.close();
    final Prefix refused = Prefix.parse("192.0.2.0/25");
    final PrefilterStore store =
        new FailingStore(refused, slots -> assertEquals(0, Libbpf.bpf_map_freeze(slots.fd())));
    manager = node.launch(node.context().prefilterDevice(DEVICE).prefilterStore(store));
    final Prefilter prefilter = manager.prefilter();
    final PrefilterList list = prefilter.add(OptionalLong.empty(), prefixes(100));
    assertEquals(
        "disk full; until the next start the kernel enforces the refused list: "
            + "map prefilter_tables: update (prefilter_list): EPERM",
        assertThrows(
                OperationException.class,
                () -> prefilter.add(OptionalLong.empty(), List.of(refused)))
            .getMessage());
    assertEquals(list, prefilter.get());
    final GuardWatch watch = new GuardWatch(manager);
    for (final String name : NAMES) { // the last ones that a round compares
      try (PrefilterWords words = new PrefilterWords(map(name))) {
        words.word(0, ~words.word(0));
      }
    }
    watch.awaitRepair(Kind.MAP_ENTRY, NAMES.size());
    assertEquals(NAMES.size(), watch.repairs(Kind.MAP_ENTRY));
    assertTrue(watch.module().message().contains("map prefilter_tables"));
    assertFalse(watch.module().message().contains("failed"), () -> watch.module().message());
    try (AttachedPrefilter attached = new AttachedPrefilter(node)) {
      assertEquals(AttachedPrefilter.DROP, attached.verdict(IpAddress.parse("192.0.2.1")));
      assertEquals(AttachedPrefilter.PASS, attached.verdict(IpAddress.parse("192.0.2.129")));
      assertEquals(AttachedPrefilter.DROP, attached.verdict(IpAddress.parse("10.0.0.1")));
    }
  }

  /** The tables of the other address family are those of the refused list, too. */
  @Test
  void shouldReplaceEveryTableOfARefusedListWithTheNextChange() throws IOException {
    manager.close();
    final Prefix refused = Prefix.parse("fd00:1:0:0:1::/112");
    final PrefilterStore store =
        new FailingStore(refused, slots -> slots.writeListener(new FailingOnce()));
    manager = node.launch(node.context().prefilterDevice(DEVICE).prefilterStore(store));
    final Prefilter prefilter = manager.prefilter();
    prefilter.add(OptionalLong.empty(), prefixes(100));
    assertThrows(
        OperationException.class, () -> prefilter.add(OptionalLong.empty(), List.of(refused)));
    final List<Integer> before = tableIds();
    try (AttachedPrefilter attached = new AttachedPrefilter(node)) {
      assertEquals(AttachedPrefilter.DROP, attached.verdict(IpAddress.parse("fd00:1:0:0:1::7")));
      prefilter.add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/25")));
      assertEquals(AttachedPrefilter.PASS, attached.verdict(IpAddress.parse("fd00:1:0:0:1::7")));
    }
    assertFreed(before);
  }

  @Test
  void shouldReplaceOnlyTheTablesThatAChangeConcerns() {
    final List<Integer> before = tableIds();
    manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/25")));
    final List<Integer> ipv4 = tableIds();
    assertEquals(before.get(2), ipv4.get(2));
    manager.prefilter().add(OptionalLong.empty(), List.of(Prefix.parse("fd00::/65")));
    assertEquals(ipv4.get(1), tableIds().get(1));
    assertFreed(List.of(before.get(0), before.get(1), ipv4.get(0), ipv4.get(2)));
  }

  /** Fails the first write of a map, as none of the kernel's does. */
  private static final class FailingOnce implements MapWriteListener {
    private boolean hasFailed;

    @Override
    public void onUpdate(BpfMap slots, DirectBuffer key, DirectBuffer value, int result) {
      if (!hasFailed) {
        hasFailed = true;
        throw new IllegalStateException("no mirror");
      }
    }

    @Override
    public void onDelete(BpfMap slots, DirectBuffer key, int result) {}

    @Override
    public void onBulkWrite(BpfMap slots) {}
  }

  /** A store that does not store a prefix, and then has the undo of the change fail. */
  private final class FailingStore implements PrefilterStore {
    private final Prefix refused;
    private final Consumer<BpfMap> breakSlots;

    FailingStore(Prefix refused, Consumer<BpfMap> breakSlots) {
      this.refused = refused;
      this.breakSlots = breakSlots;
    }

    @Override
    public Optional<PrefilterList> load() {
      return Optional.empty();
    }

    @Override
    public void store(PrefilterList list) {
      if (list.deny().contains(refused)) {
        breakSlots.accept(map("prefilter_tables"));
        throw new OperationException("disk full");
      }
    }
  }

  @Test
  void shouldChangeNothingWhereATableCannotBePutIntoItsSlot() {
    final Prefilter prefilter = manager.prefilter();
    final PrefilterList list = prefilter.add(OptionalLong.empty(), prefixes(100));
    final List<Integer> before = tableIds();
    final SlotWrites written = new SlotWrites(map("prefilter_tables"));
    assertEquals(0, Libbpf.bpf_map_freeze(map("prefilter_tables").fd()));
    assertEquals(
        "map prefilter_tables: update (prefilter_list): EPERM",
        assertThrows(
                OperationException.class,
                () -> prefilter.add(OptionalLong.empty(), List.of(Prefix.parse("192.0.2.0/24"))))
            .getMessage());
    assertEquals(list, prefilter.get());
    assertEquals(before, tableIds());
    assertFreed(written.ids.subList(0, 1));
    assertEquals(Set.of(before.getFirst()), Set.copyOf(written.ids.subList(1, written.ids.size())));
    final ModuleHealth health = ManagerTestNode.health(manager, "dp-guard");
    assertEquals(Level.DEGRADED, health.level(), "the slot may hold another table");
    assertTrue(health.message().startsWith("entries of map prefilter_tables"), health::message);
    try (AttachedPrefilter attached = new AttachedPrefilter(node)) {
      assertEquals(AttachedPrefilter.PASS, attached.verdict(IpAddress.parse("192.0.2.1")));
      assertEquals(AttachedPrefilter.DROP, attached.verdict(IpAddress.parse("10.0.0.1")));
    }
  }
}
