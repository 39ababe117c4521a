package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.conductor.Work;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.service.ServiceRows.Part;
import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceEntries.Backend;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.maps.kernel.MapWriteListener;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceScope;
import agent.reconcile.BpfTargetMap;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A service that the kernel has no room for, and what readers of the maps learn of it. */
@KernelTest
class ServiceRefusalKernelTest {
  private static final int BACKENDS = 3;

  private final Map<Part, BpfMap> maps = new EnumMap<>(Part.class);
  private final BpfMap gate = create(MapCatalog.SERVICE_GATE, 1);
  private final RefusedEntries refused = new RefusedEntries();
  private final Reconciler reconciler = new Reconciler(System::nanoTime, refused);
  private final ServiceTables tables;
  private final Listener listener = new Listener();

  ServiceRefusalKernelTest() {
    maps.put(Part.FRONTENDS, create(MapCatalog.SERVICES, 8));
    maps.put(Part.SLOTS, create(MapCatalog.SERVICE_SLOTS, 8));
    maps.put(Part.HEADERS, create(MapCatalog.SERVICE_TABLES, 8));
    maps.put(Part.CELLS, create(MapCatalog.SERVICE_CELLS, 64));
    maps.put(Part.ENDS, create(MapCatalog.SERVICE_ENDS, 8));
    maps.put(Part.BACKENDS, create(MapCatalog.SERVICE_BACKENDS, BACKENDS));
    tables =
        new ServiceTables(
            reconciler,
            new KernelFaults(),
            part -> new BpfTargetMap(maps.get(part)),
            new BpfTargetMap(gate),
            16_381);
    all().forEach(map -> map.writeListener(listener));
    realized(tables.restore(List.of(), Set.of()));
  }

  private static BpfMap create(MapProperties map, int entries) {
    return BpfMap.create(MapDefinitions.of("host").get(map).withMaxEntries(entries), "");
  }

  private Stream<BpfMap> all() {
    return Stream.concat(maps.values().stream(), Stream.of(gate));
  }

  @AfterEach
  void close() {
    all().forEach(BpfMap::close);
  }

  /** Counts what the kernel refuses. */
  private static final class Listener implements MapWriteListener {
    int refused;

    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      refused += result < 0 ? 1 : 0;
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {}

    @Override
    public void onBulkWrite(BpfMap map) {
      throw new AssertionError("the reader of the map would copy all of it again");
    }
  }

  private <T> T realized(CompletableFuture<T> change) {
    while (!change.isDone()) {
      assertEquals(Work.Progress.WORKED, reconciler.step());
    }
    return change.join();
  }

  private static ServiceEntries service(int id, int backends) {
    final List<Backend> all = new ArrayList<>();
    for (int i = 1; i <= backends; i++) {
      all.add(new Backend(IpAddress.parse("10.1.0." + i), 80, BackendState.ACTIVE, 1));
    }
    return new ServiceEntries(
        id, IpAddress.parse("10.96.0.1"), 80, List.of(6), 0, Set.of(ServiceScope.OUTSIDE), all);
  }

  private void put(ServiceEntries service) {
    realized(tables.put(tables.placed(service)));
  }

  private Map<String, Long> counts() {
    final Map<String, Long> counts = new TreeMap<>();
    all().forEach(map -> counts.put(map.name(), map.countEntries()));
    return counts;
  }

  @Test
  void shouldLeaveAServiceAsItIsWhereTheKernelHasNoRoomForTheNextOne() {
    put(service(7, 2));
    final Map<String, Long> before = counts();
    assertEquals(2, before.get("service_backends"));
    final ServiceEntries wider = service(7, BACKENDS + 1);
    final CompletionException failure = assertThrows(CompletionException.class, () -> put(wider));
    assertEquals(Errno.E2BIG, ((BpfMapException) failure.getCause()).errno());
    assertTrue(listener.refused > 0);
    assertEquals(0, refused.size());
    assertEquals(before, counts());
    put(service(7, BACKENDS));
    assertEquals((long) BACKENDS, counts().get("service_backends"));
    assertEquals(1, counts().get("service_gate"));
    realized(tables.remove(7));
    assertEquals(0, counts().get("services"));
    assertEquals(0, counts().get("service_backends"));
  }
}
