package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapFlag;
import agent.conductor.Repairs.Kind;
import agent.datapath.spec.ServiceEntries;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EndpointMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapDefinition;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.ServiceGate;
import agent.maps.layout.ServiceScope;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.types.IpAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs of devices look for services only while one takes packets from outside. */
@KernelTest
class ServiceGateKernelTest {
  private static final Set<ServiceScope> INSIDE = Set.of(ServiceScope.INSIDE);
  private static final Set<ServiceScope> BOTH = Set.of(ServiceScope.values());

  private ManagerTestNode node;
  private TestControlGroup group;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    group = TestControlGroup.create();
    launch(Set.of());
  }

  private void launch(Set<Integer> kept, ServiceEntries... services) {
    manager = node.launch(node.context().cgroupRoot(group.path()));
    await(manager.services().restore(List.of(services), kept));
  }

  @AfterEach
  void remove() throws Exception {
    await(manager.services().restore(List.of(), Set.of()));
    manager.close();
    group.close();
    node.close();
  }

  private static ServiceEntries service(int id, Set<ServiceScope> scopes) {
    return new ServiceEntries(
        id, IpAddress.parse("10.96.0." + (id & 0xff)), 80, List.of(6, 17), 0, scopes, List.of());
  }

  private BpfMap map(String name) {
    return manager.maps().find(name).orElseThrow();
  }

  private EntryBuffer gate() {
    final EntryBuffer entry = new EntryBuffer(map("service_gate"));
    assertEquals(0, map("service_gate").lookup(entry));
    return entry;
  }

  private void assertGate(ServiceGate state) {
    assertEquals(state.number(), gate().value().getInt(0));
  }

  @Test
  void shouldOpenForTheFirstFrontendAndCloseAfterTheLast() {
    assertGate(ServiceGate.CLOSED);
    await(manager.services().put(service(1, INSIDE)));
    assertGate(ServiceGate.CLOSED);
    await(manager.services().put(service(2, BOTH)));
    await(manager.services().put(service(2, BOTH)));
    await(manager.services().put(service(3, BOTH)));
    assertGate(ServiceGate.OPEN);
    assertEquals(10, map("services").countEntries(), "for two protocols, and outside");
    await(manager.services().remove(2));
    assertGate(ServiceGate.OPEN);
    await(manager.services().put(service(3, INSIDE)));
    assertGate(ServiceGate.CLOSED);
    assertEquals(4, map("services").countEntries());
  }

  @Test
  void shouldFollowWhatIsRestoredAndWhatIsKept() {
    await(manager.services().put(service(1, INSIDE)));
    final int outside = 2 | ServiceEntries.OUTSIDE_ID;
    await(manager.services().put(service(outside, Set.of(ServiceScope.OUTSIDE))));
    manager.close();
    launch(Set.of(outside), service(1, INSIDE));
    assertGate(ServiceGate.OPEN);
    await(manager.services().remove(outside));
    assertGate(ServiceGate.CLOSED);
    manager.close();
    launch(Set.of(), service(1, BOTH));
    assertGate(ServiceGate.OPEN);
    manager.close();
    launch(Set.of(), service(1, INSIDE));
    assertGate(ServiceGate.CLOSED);
  }

  /** The programs of endpoints look for services by an option of the endpoint's entry. */
  @Test
  void shouldTakeTheOptionOfServicesFromEndpointsWhereTheNextRunHasNone() {
    await(manager.services().put(service(1, INSIDE)));
    final MapDefinition definition = map("endpoints").definition();
    manager.close();
    final Path pin = node.bpfRoot().resolve("agent/maps/endpoints");
    try (BpfMap entries = BpfMap.adopt(BpfFileSystem.open(pin), definition, pin.toString())) {
      final EndpointMap endpoints = new EndpointMap(entries);
      endpoints.edit(77).ifindex(4711).options(EndpointOption.SERVICES.number());
      assertEquals(0, endpoints.put());
      manager = node.launch(node.context().cgroupRoot(group.path()).enableServices(false));
      assertEquals(0, endpoints.lookup(77));
      assertEquals(4711, endpoints.found().ifindex());
      assertEquals(0, endpoints.found().options() & EndpointOption.SERVICES.number());
    }
  }

  @Test
  void shouldBeRepaired() throws Exception {
    final GuardWatch watch = new GuardWatch(manager);
    for (final ServiceGate state : ServiceGate.values()) {
      await(manager.services().put(service(2, state == ServiceGate.OPEN ? BOTH : INSIDE)));
      long repairs = watch.repairs(Kind.MAP_ENTRY);
      for (final int foreign : new int[] {0, 3 - state.number()}) {
        final EntryBuffer entry = gate();
        entry.value().putInt(0, foreign);
        assertEquals(0, map("service_gate").update(entry, MapFlag.ANY));
        watch.awaitRepair(Kind.MAP_ENTRY, ++repairs);
        assertGate(state);
      }
    }
  }
}
