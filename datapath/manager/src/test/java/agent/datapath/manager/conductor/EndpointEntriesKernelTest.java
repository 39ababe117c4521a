package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.spec.EndpointSpec;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.InterfaceArray;
import agent.maps.kernel.InterfaceOverflowMap;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.layout.EndpointEntryFlyweight;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.EventType;
import agent.maps.layout.MapSize;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import agent.types.MacAddress;
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
    owner = new InterfaceCells(interfaces, overflow, faults, repairs);
    return new EndpointEntries(map, owner, generations, faults, repairs, always, bypassesStack);
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
    round(entries);
    final long before = generation(77);
    entries.listen(true, false);
    assertEquals(0x155, entry(77).options());
    assertEquals(before + 1, generation(77), "traced flows go another way");
    entries.listen(true, false);
    assertEquals(before + 1, generation(77), "a further subscriber changes nothing");
    round(entries);
    entries.listen(false, false);
    assertEquals(0x141, entry(77).options());
    round(entries);
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
    round(next);
    next.listen(false, false);
    assertEquals(0x345, entry(77).options());
    assertEquals(before, generation(77));
    owner.close();
    final EndpointEntries all = start(Set.of(EventType.values()), true);
    all.open(spec(77, IFINDEX), 5);
    assertEquals(0x355, entry(77).options());
    all.listen(true, false);
    assertEquals(before, generation(77), "nothing changes");
    round(all);
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
    round(entries);
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
    round(entries);
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
    round(next);
    repairs.forEach((kind, repaired) -> assertEquals(0, repaired, kind + " repaired"));
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
    round(same);
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
    round(owner);
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
    round(owner);
    cells.set(cell(IFINDEX), 0);
    cells.set(9, InterfaceArray.cell(9, 77));
    assertEquals(0, colliding.remove(COLLIDING));
    round(owner);
    assertEquals(InterfaceArray.cell(IFINDEX, 77), cells.get(cell(IFINDEX)));
    assertEquals(0, cells.get(9));
    assertEquals(78, colliding.get(COLLIDING));
    repairs.forEach(
        (kind, count) -> assertEquals(kind == Repairs.Kind.MAP_ENTRY ? 3 : 0, count, kind.name()));
    round(owner);
    assertEquals(Level.OK, faults.read().level(), () -> faults.read().message());
  }
}
