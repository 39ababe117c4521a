package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.MapFlag;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.scenario.InterfaceOverflowMap;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import agent.datapath.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.InterfaceArray;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.MapSize;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the programs read of an endpoint: its entry, and the cell of its interface. */
@KernelTest
class EndpointEntriesKernelTest {
  private static final MapDefinitions SHIPPED = MapDefinitions.of("endpoint");
  private static final int IFINDEX = 1234;
  private static final int COLLIDING = IFINDEX + MapSize.INTERFACE_CELLS;
  private static final IpAddress IPV4 = IpAddress.parse("10.77.0.9");
  private static final IpAddress IPV6 = IpAddress.parse("fd77::1:9");
  private static final MacAddress MAC = MacAddress.parse("02:00:00:00:00:aa");
  private static final MacAddress HOST_MAC = MacAddress.parse("02:00:00:00:01:bb");

  private final BpfMap map = BpfMap.create(SHIPPED.get(MapCatalog.ENDPOINTS), "");
  private final BpfMap interfaces = BpfMap.create(SHIPPED.get(MapCatalog.INTERFACES), "");
  private final BpfMap overflow =
      BpfMap.create(SHIPPED.get(MapCatalog.INTERFACES_OVERFLOW).withMaxEntries(1), "");
  private final BpfMap generationMap = BpfMap.create(SHIPPED.get(MapCatalog.GENERATIONS), "");
  private final InterfaceArray cells = new InterfaceArray(interfaces);
  private final InterfaceOverflowMap colliding = new InterfaceOverflowMap(overflow);
  private final EndpointMap endpoints = new EndpointMap(map);
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final VerdictGenerations generations =
      new VerdictGenerations(generationMap, faults, repairs);
  private InterfaceCells owner;

  @AfterEach
  void close() {
    if (owner != null) {
      owner.close();
    }
    cells.close();
    generations.close();
    for (final BpfMap each : new BpfMap[] {map, interfaces, overflow, generationMap}) {
      each.close();
    }
  }

  private EndpointEntries start() {
    return start(false);
  }

  private EndpointEntries start(boolean bypassesStack) {
    return start(Set.of(), bypassesStack);
  }

  private EndpointEntries start(Set<EventType> always, boolean bypassesStack) {
    final ImmediateChanges changes =
        new ImmediateChanges(new Reconciler(System::nanoTime, new RefusedEntries()));
    owner = new InterfaceCells(changes, interfaces, overflow, faults, repairs);
    return new EndpointEntries(
        changes, map, owner, generations, faults, repairs, new EntryOptions(always, bypassesStack));
  }

  private static EndpointSpec spec(int id, int ifindex) {
    return spec(id, ifindex, 0x155);
  }

  private static EndpointSpec spec(int id, int ifindex, int options) {
    return new EndpointSpec(id, ifindex, "lxc", IPV4, IPV6, MAC, HOST_MAC, 4001, options, 2);
  }

  private static int cell(int ifindex) {
    return InterfaceArray.index(ifindex);
  }

  private EndpointEntryFlyweight entry(int id) {
    assertEquals(0, endpoints.lookup(id));
    return endpoints.found();
  }

  private long generation(int id) {
    try (GenerationArray read = new GenerationArray(generationMap)) {
      return read.get(id);
    }
  }

  private static void round(Check check) {
    while (check.step(0) != Check.Progress.DONE) {}
  }

  @Test
  void shouldWriteNotificationsOnlyWhileThereIsASubscriber() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    assertEquals(0x141, entry(77).options());
    round(entries.guard());
    final long before = generation(77);
    entries.listen(true, false);
    assertEquals(0x155, entry(77).options());
    assertEquals(before + 1, generation(77), "traced flows go another way");
    entries.listen(true, false);
    assertEquals(before + 1, generation(77), "a further subscriber changes nothing");
    round(entries.guard());
    entries.listen(false, false);
    assertEquals(0x141, entry(77).options());
    round(entries.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
    assertEquals(0x155, entries.current(77).options());
  }

  /** A further run finds what it wants, and judges no flow again. */
  @Test
  void shouldWriteTheNotificationsThatAreWantedWithoutASubscriber() {
    final EndpointEntries entries = start(Set.of(EventType.DROP), true);
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, IFINDEX + 1, 0x145), 5);
    assertEquals(0x345, entry(77).options());
    final long unchanged = generation(78);
    entries.listen(true, false);
    assertEquals(0x355, entry(77).options());
    assertEquals(unchanged, generation(78), "it notifies of drops alone, as before");
    entries.listen(false, false);
    assertEquals(0x345, entry(77).options());
    final long before = generation(77);
    owner.close();
    final EndpointEntries next = start(Set.of(EventType.DROP), true);
    round(next.guard());
    next.listen(false, false);
    assertEquals(0x345, entry(77).options());
    assertEquals(before, generation(77));
    owner.close();
    final EndpointEntries all = start(Set.of(EventType.values()), true);
    all.open(spec(77, IFINDEX), 5);
    assertEquals(0x355, entry(77).options());
    all.listen(true, false);
    assertEquals(before, generation(77), "nothing changes");
    round(all.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  @Test
  void shouldWriteTheOptionOfTheNodeToEachEntryAndInvalidateItsVerdictsWhereThatChanges() {
    final EndpointEntries entries = start(true);
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, IFINDEX + 1), 5);
    assertEquals(0x341, entry(77).options());
    assertEquals(0x155, entries.current(77).options(), "it is no option of the endpoint");
    final long before = generation(78);
    entries.bypassStack(true);
    assertEquals(before, generation(78), "nothing changes");
    entries.bypassStack(false);
    assertEquals(0x141, entry(77).options());
    assertEquals(0x141, entry(78).options());
    assertEquals(before + 1, generation(78), "its flows go another way");
    entries.listen(true, false);
    entries.bypassStack(true);
    assertEquals(0x355, entry(78).options());
    round(entries.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  /** The way of a flow does not depend on it, so that its verdict stays. */
  @Test
  void shouldWriteTheOptionOfCaptureOnlyWhileASubscriberWantsPackets() {
    final EndpointEntries entries = start(true);
    entries.open(spec(77, IFINDEX), 5);
    entries.listen(true, false);
    assertEquals(0x355, entry(77).options());
    final long before = generation(77);
    entries.listen(true, true);
    assertEquals(0xb55, entry(77).options());
    entries.open(spec(78, IFINDEX + 1), 5);
    assertEquals(0xb55, entry(78).options(), "of an endpoint that came later");
    assertEquals(0x155, entries.current(77).options(), "it is no option of the endpoint");
    entries.bypassStack(false);
    assertEquals(0x955, entry(77).options());
    entries.bypassStack(true);
    entries.listen(true, false);
    assertEquals(0x355, entry(77).options());
    assertEquals(before + 2, generation(77), "the routing alone invalidates verdicts");
    entries.listen(true, true);
    entries.listen(false, false);
    assertEquals(0x341, entry(77).options());
    round(entries.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  @Test
  void shouldEndTheCaptureOfAPreviousRun() {
    final EndpointEntries entries = start(true);
    entries.open(spec(77, IFINDEX), 5);
    entries.listen(true, true);
    owner.close();
    final EndpointEntries next = start(true);
    assertEquals(0, entry(77).options() & EndpointOption.CAPTURE.number());
    assertEquals(0, next.current(77).options() & EndpointOption.CAPTURE.number());
    round(next.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  /** The flows of the endpoint go another way, and no comparison finds a difference. */
  @Test
  void shouldEndTheNotificationsOfAPreviousRun() {
    final EndpointEntries entries = start(true);
    entries.open(spec(77, IFINDEX), 5);
    entries.listen(true, false);
    owner.close();
    final long before = generation(77);
    final EndpointEntries next = start(true);
    assertEquals(0x341, entry(77).options());
    assertEquals(before + 1, generation(77));
    round(next.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  @Test
  void shouldRepairAnEntryOfWhichAnyByteHasChanged() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    final EntryBuffer slot = new EntryBuffer(map);
    slot.key().putInt(0, 77);
    assertEquals(0, map.lookup(slot));
    final byte[] before = new byte[EndpointEntryFlyweight.LENGTH];
    slot.value().getBytes(0, before);
    for (int i = 0; i < before.length; i++) {
      final long generation = generation(77);
      slot.value().putByte(i, (byte) (before[i] ^ 0x40));
      assertEquals(0, map.update(slot, MapFlag.ANY));
      round(entries.guard());
      assertEquals(0, map.lookup(slot));
      final byte[] after = new byte[EndpointEntryFlyweight.LENGTH];
      slot.value().getBytes(0, after);
      assertArrayEquals(before, after, "byte " + i);
      assertEquals(generation + 1, generation(77), "flows are judged again");
      assertEquals(
          List.of(
              new Fault(Part.PROGRAMS, true, "endpoint 77 entry of endpoints: has other values")),
          faults.of(77));
    }
    round(entries.guard());
    assertEquals(List.of(), faults.of(77));
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }

  @Test
  void shouldChangeTheEntriesOfAPreviousRunThatHasRoutedOtherwise() {
    start(false).open(spec(77, IFINDEX), 5);
    owner.close();
    final long before = generation(77);
    start(true);
    assertEquals(0x341, entry(77).options());
    assertEquals(before + 1, generation(77));
    owner.close();
    final EndpointEntries same = start(true);
    assertEquals(before + 1, generation(77));
    round(same.guard());
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
  }

  @Test
  void shouldWriteEachValueOfAnEndpoint() {
    final EndpointEntries entries = start();
    entries.listen(true, false);
    entries.open(spec(77, IFINDEX), 5);
    final EndpointEntryFlyweight entry = entry(77);
    assertEquals(77, entry.endpointId());
    assertEquals(IFINDEX, entry.ifindex());
    assertEquals(0x155, entry.options());
    assertEquals(2, entry.aggregation());
    assertTrue(entry.hasIpv4() && entry.hasIpv6());
    assertEquals((int) IPV4.low(), entry.ipv4());
    assertEquals(IPV6.high(), entry.ipv6High());
    assertEquals(IPV6.low(), entry.ipv6Low());
    assertEquals(MAC.bits(), entry.mac());
    assertEquals(HOST_MAC.bits(), entry.hostMac());
    assertEquals(4001, entry.identity());
    assertEquals(5, entry.policyId());
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
  }

  @Test
  void shouldWriteWhichAddressesAnEndpointLacks() {
    final EndpointEntries entries = start();
    entries.open(new EndpointSpec(77, 1, "lxc", IPV4, null, MAC, HOST_MAC, 1, 0, 0), 5);
    assertTrue(entry(77).hasIpv4());
    assertFalse(entry(77).hasIpv6());
    entries.open(new EndpointSpec(77, 1, "lxc", null, IPV6, MAC, HOST_MAC, 1, 0, 0), 5);
    assertFalse(entry(77).hasIpv4());
    assertTrue(entry(77).hasIpv6());
  }

  @Test
  void shouldCloseAnInterfaceAndOpenAnother() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(77, IFINDEX + 1), 5);
    assertEquals(0, cells.get(cell(IFINDEX)));
    assertEquals(InterfaceArray.cell(IFINDEX + 1, 77), cells.get(cell(IFINDEX + 1)));
    entries.close(77);
    assertEquals(0, cells.get(cell(IFINDEX + 1)));
    assertEquals(IFINDEX + 1, entry(77).ifindex(), "the entry stays");
    entries.open(spec(77, IFINDEX), 5);
    entries.clear(77);
    assertEquals(0, cells.get(cell(IFINDEX)));
    assertEquals(0, entry(77).ifindex());
  }

  @Test
  void shouldNotCloseAnInterfaceThatAnotherEndpointHasNow() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, IFINDEX), 5);
    entries.clear(77);
    assertEquals(InterfaceArray.cell(IFINDEX, 78), cells.get(cell(IFINDEX)));
    entries.closeInterface(IFINDEX);
    assertEquals(0, cells.get(cell(IFINDEX)));
  }

  @Test
  void shouldOpenAnInterfaceWhoseCellIsOfAnotherInTheOverflow() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, COLLIDING), 5);
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
    assertEquals(78, colliding.get(COLLIDING));
    final EndpointSpec third = spec(79, COLLIDING + MapSize.INTERFACE_CELLS);
    assertThrows(BpfMapException.class, () -> entries.open(third, 5), "the overflow is full");
    entries.clear(77);
    assertEquals(0, cells.get(cell(IFINDEX)));
    assertEquals(78, colliding.get(COLLIDING));
    entries.clear(78);
    assertEquals(0, colliding.get(COLLIDING));
    entries.open(spec(80, 7), 5);
    entries.open(spec(81, 7 + MapSize.INTERFACE_CELLS), 5);
    assertEquals(81, colliding.get(7 + MapSize.INTERFACE_CELLS), "the refused one has not come");
  }

  /** Programs look into the overflow where the cell is empty, too. */
  @Test
  void shouldCloseAnInterfaceThatWasInTheOverflowBeforeItHadItsCell() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, COLLIDING), 5);
    entries.clear(77);
    entries.open(spec(78, COLLIDING), 5);
    assertEquals(InterfaceArray.cell(COLLIDING, 78), cells.get(cell(COLLIDING)));
    assertEquals(0, colliding.get(COLLIDING));
    entries.close(78);
    assertFalse(entries.isOpen(78));
    assertEquals(0, cells.get(cell(COLLIDING)));
    assertEquals(0, colliding.get(COLLIDING));
  }

  @Test
  void shouldTakeOverTheOpenInterfacesOfAPreviousRunAndCloseTheOthers() {
    final EndpointEntries before = start();
    before.open(spec(77, IFINDEX), 5);
    before.open(spec(78, COLLIDING), 5);
    before.open(spec(79, 7), 5);
    before.close(79);
    owner.close();
    cells.set(8, InterfaceArray.cell(8, 77)); // its entry has another interface
    final EndpointEntries after = start();
    assertTrue(after.isOpen(77) && after.isOpen(78));
    assertFalse(after.isOpen(79));
    assertEquals(0, cells.get(8));
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
    round(owner.guard());
    assertEquals(78, colliding.get(COLLIDING));
    repairs.forEach((kind, count) -> assertEquals(0, count, kind.name()));
  }

  @Test
  void shouldRestoreAnEntryAndWhetherItsInterfaceWasOpen() {
    final EndpointEntries entries = start();
    final EndpointEntry none = entries.current(77);
    entries.open(spec(77, IFINDEX), 5);
    final EndpointEntry first = entries.current(77);
    entries.open(spec(77, IFINDEX + 1), 5);
    entries.restore(77, first, true);
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
    assertEquals(0, cells.get(cell(IFINDEX + 1)));
    entries.restore(77, first, false);
    assertEquals(IFINDEX, entry(77).ifindex());
    assertEquals(0, cells.get(cell(IFINDEX)));
    entries.open(spec(77, IFINDEX), 5);
    entries.restore(77, none, false);
    assertEquals(0, entry(77).ifindex());
    assertEquals(0, cells.get(cell(IFINDEX)));
  }

  @Test
  void shouldRepairCellsAndTheOverflow() {
    final EndpointEntries entries = start();
    entries.open(spec(77, IFINDEX), 5);
    entries.open(spec(78, COLLIDING), 5);
    round(owner.guard());
    cells.set(cell(IFINDEX), 0);
    cells.set(9, InterfaceArray.cell(9, 77));
    assertEquals(0, colliding.remove(COLLIDING));
    round(owner.guard());
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
    assertEquals(0, cells.get(9));
    assertEquals(78, colliding.get(COLLIDING));
    assertEquals(
        List.of(
            new Fault(
                Part.PROGRAMS,
                true,
                "cell 1234 of interfaces: is of interface 0 and endpoint 0, "
                    + "not of interface 1234 and endpoint 77")),
        faults.of(77));
    assertEquals(
        "cell 1234 of interfaces: is of interface 0 and endpoint 0, "
            + "not of interface 1234 and endpoint 77; "
            + "cell 9 of interfaces: is of interface 9 and endpoint 77, "
            + "not of interface 0 and endpoint 0; "
            + "map interfaces_overflow: 1 entries missing, 0 unexpected, 0 with a wrong value; "
            + "first: missing (interface 66770)",
        faults.read().message());
    repairs.forEach(
        (kind, count) -> assertEquals(kind == Repairs.Kind.MAP_ENTRY ? 3 : 0, count, kind.name()));
    round(owner.guard());
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }
}
