package agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.ServiceForwarding;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The API and a source without numbers write services beside each other. */
class ServiceSourcesTest {
  private static final EntrySource CLUSTER = new EntrySource("cluster");
  private static final EntrySource FILE = new EntrySource("file:shop.yaml");
  private static final Frontend WEB = frontend(80);
  private static final Frontend NAMES = frontend(53);

  private final ServicesTest.Datapath datapath = new ServicesTest.Datapath();
  private final ServicesTest.Disk disk = new ServicesTest.Disk();
  private Services services = restored();

  private static Frontend frontend(int port) {
    return new Frontend(IpAddress.parse("10.96.0.1"), port, ServiceProtocol.TCP);
  }

  private Services restored() {
    return Services.restore(datapath, disk, "n1", ServiceForwarding.DEFAULT);
  }

  private static Service service(int id, Frontend frontend, int... ports) {
    final List<Backend> backends = new ArrayList<>();
    for (final int port : ports) {
      backends.add(new Backend(IpAddress.parse("10.1.0.7"), port, Backend.State.ACTIVE, 1, null));
    }
    return new Service(id, frontend, backends, false, 0, null, null);
  }

  private static Service unnumbered(Frontend frontend, int... ports) {
    return service(Service.UNNUMBERED, frontend, ports).from(CLUSTER);
  }

  private Services.Put put(Service service) {
    return ServicesTest.done(services.put(service));
  }

  private void remove(int id) {
    ServicesTest.done(services.remove(id));
  }

  private void remove(int id, EntrySource source) {
    ServicesTest.done(services.remove(id, source));
  }

  private int allocated(Frontend frontend) {
    return put(unnumbered(frontend)).service().id();
  }

  /** A change that is refused leaves memory, datapath and disk as they are. */
  private void assertConflict(String message, Runnable call) {
    final List<Service> listed = services.list();
    final Map<Integer, ServiceEntries> held = new TreeMap<>(datapath.held);
    final Map<Integer, Service> kept = new TreeMap<>(disk.kept);
    final Refusal refusal = assertThrows(Refusal.class, call::run);
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals(message, refusal.getMessage());
    assertEquals(listed, services.list());
    assertEquals(held, datapath.held);
    assertEquals(kept, disk.kept);
  }

  @Test
  void shouldLetASourceChangeAndRemoveItsOwnServicesAlone() {
    put(service(1, WEB, 8080));
    put(service(2, NAMES, 5353).from(FILE));
    final String ofApi = "id: service 1 (10.96.0.1:80/TCP) belongs to source 'api'";
    final String ofFile = "id: service 2 (10.96.0.1:53/TCP) belongs to source 'file:shop.yaml'";
    for (final EntrySource other : List.of(FILE, CLUSTER, new EntrySource("file:other.yaml"))) {
      assertConflict(ofApi, () -> put(service(1, WEB, 8081).from(other)));
      assertConflict(ofApi, () -> put(service(1, WEB, 8080).from(other)));
      assertConflict(ofApi, () -> remove(1, other));
    }
    assertConflict(ofFile, () -> put(service(2, NAMES, 5354)));
    assertConflict(ofFile, () -> put(service(2, frontend(54), 5354).from(CLUSTER)));
    assertConflict(ofFile, () -> remove(2));
    assertConflict(ofFile, () -> remove(2, CLUSTER));
    services = restored();
    assertConflict(ofFile, () -> remove(2));
    assertFalse(put(service(1, WEB, 8081)).isCreated());
    assertFalse(put(service(2, NAMES, 5354).from(FILE)).isCreated());
    remove(1);
    remove(2, FILE);
    assertEquals(List.of(), services.list());
    assertEquals(Map.of(), disk.kept);
  }

  @Test
  void shouldNameTheServiceAndTheSourceThatHaveAFrontend() {
    put(service(7, WEB));
    final int id = allocated(NAMES);
    assertConflict(
        "frontend-address: 10.96.0.1:80/TCP is already the frontend of service 7 of source 'api'",
        () -> put(unnumbered(WEB)));
    assertConflict(
        "frontend-address: 10.96.0.1:53/TCP is already the frontend of service %d of source"
                .formatted(id)
            + " 'cluster'",
        () -> put(service(8, NAMES)));
    assertConflict(
        "frontend-address: 10.96.0.1:53/TCP is already the frontend of service " + id,
        () -> put(service(8, NAMES).from(CLUSTER)));
    remove(id, CLUSTER);
    assertTrue(put(service(8, NAMES)).isCreated());
  }

  @Test
  void shouldKeepTheNumberOfAServiceWhoseSourceHasNone() {
    put(service(1, WEB));
    final Services.Put created = put(unnumbered(NAMES, 5353));
    final int id = created.service().id();
    assertTrue(created.isCreated());
    assertTrue(
        id >= ServiceChanges.FIRST_ALLOCATED, "not among those that clients of the API choose");
    assertEquals(unnumbered(NAMES, 5353).numbered(id), services.get(id));
    assertEquals(5353, datapath.held.get(id).backends().getFirst().port());
    final Services.Put changed = put(unnumbered(NAMES, 5354));
    assertFalse(changed.isCreated());
    assertEquals(id, changed.service().id());
    assertEquals(5354, datapath.held.get(id).backends().getFirst().port());
    services = restored();
    assertFalse(put(unnumbered(NAMES, 5355)).isCreated());
    assertEquals(5355, disk.kept.get(id).backends().getFirst().port());
    assertEquals(2, services.list().size());
  }

  @Test
  void shouldNumberOtherServicesAlthoughTheApiHasTheNumber() {
    final int first = allocated(WEB);
    remove(first, CLUSTER);
    put(service(first, NAMES));
    put(service(first + 1, frontend(54)));
    assertEquals(first + 2, allocated(WEB));
    services = restored();
    assertEquals(first + 2, allocated(WEB));
    remove(first);
    assertEquals(first + 2, allocated(WEB), "it has one");
    assertConflict(
        "id: service %d (10.96.0.1:80/TCP) belongs to source 'cluster'".formatted(first + 2),
        () -> put(service(first + 2, NAMES)));
  }

  /** The highest number is followed by the least that is allocated, and by none of the API. */
  @Test
  void shouldGoOnWithTheLeastNumberAfterTheHighest() {
    Frontend last = null;
    for (int port = 1, nearest = Integer.MAX_VALUE; port <= 65_535; port++) {
      final int left = Integer.MAX_VALUE - ServiceChanges.firstNumber(frontend(port));
      if (left < nearest) {
        nearest = left;
        last = frontend(port);
      }
    }
    final int first = ServiceChanges.firstNumber(last);
    final int beyond = Integer.MAX_VALUE - first + 1;
    assertTrue(beyond <= 65_535, "so many services are made");
    for (int i = 0; i < beyond; i++) {
      disk.kept.put(
          first + i, service(first + i, new Frontend(last.address(), 1 + i, ServiceProtocol.UDP)));
    }
    services = restored();
    assertEquals(ServiceChanges.FIRST_ALLOCATED, allocated(last));
  }

  @Test
  void shouldNotGiveTheNumberOfAServiceWhoseRecordCannotBeRead() {
    final int first = ServiceChanges.firstNumber(WEB);
    disk.unreadable.put(first, "the file is damaged");
    services = restored();
    final Refusal refusal =
        assertThrows(Refusal.class, () -> remove(first, CLUSTER), "its source is unknown");
    assertEquals("id: service " + first + ": the file is damaged", refusal.getMessage());
    assertEquals(first + 1, allocated(WEB));
    remove(first);
    assertEquals(first + 1, allocated(WEB));
    datapath.keptFrontends =
        List.of(new ServiceProxy.KeptFrontend(9, NAMES.address(), NAMES.port(), 6));
    disk.unreadable.put(9, "the file is damaged");
    services = restored();
    assertConflict(
        "frontend-address: 10.96.0.1:53/TCP is already the frontend of service 9",
        () -> put(unnumbered(NAMES)));
  }

  /** Otherwise the second of them would be refused the frontend that the first has taken. */
  @Test
  void shouldGiveOneNumberToCallersWithOneFrontend() {
    datapath.enforced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> first = services.put(unnumbered(WEB, 8080));
    final CompletableFuture<Services.Put> second = services.put(unnumbered(WEB, 8081));
    assertFalse(first.isDone());
    assertFalse(second.isDone(), "it waits for the creation");
    datapath.enforced.complete(null);
    final Services.Put created = ServicesTest.done(first);
    final Services.Put changed = ServicesTest.done(second);
    assertTrue(created.isCreated());
    assertFalse(changed.isCreated());
    assertEquals(created.service().id(), changed.service().id());
    assertEquals(8081, services.list().getFirst().backends().getFirst().port());
  }

  /** The number that both try first is that of one of them in the end. */
  @Test
  void shouldGiveAnotherNumberWhereTheOneThatItWaitsForIsTaken() {
    final int first = ServiceChanges.firstNumber(WEB);
    disk.synced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> ofApi = services.put(service(first, NAMES));
    final CompletableFuture<Services.Put> ofCluster = services.put(unnumbered(WEB));
    assertFalse(ofCluster.isDone(), "it waits for the creation");
    disk.synced.complete(null);
    assertEquals(first, ServicesTest.done(ofApi).service().id());
    assertEquals(first + 1, ServicesTest.done(ofCluster).service().id());
  }

  @Test
  void shouldGiveServicesOfTwoFrontendsTwoNumbers() {
    put(service(1, frontend(9)));
    final int web = allocated(WEB);
    assertNotEquals(web, allocated(NAMES));
    final Frontend both = new Frontend(WEB.address(), WEB.port(), ServiceProtocol.ANY);
    assertConflict(
        "frontend-address: 10.96.0.1:80/ANY is already the frontend of service " + web,
        () -> put(unnumbered(both)));
    assertEquals(3, services.list().size());
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, Integer.MIN_VALUE})
  void shouldRefuseWhatIsNoNumberOfAService(int id) {
    final Refusal refusal = assertThrows(Refusal.class, () -> put(service(id, WEB).from(CLUSTER)));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertEquals("id: " + id + " is not a valid service number", refusal.getMessage());
    assertEquals(List.of(), services.list());
    assertEquals(Map.of(), datapath.held);
  }
}
