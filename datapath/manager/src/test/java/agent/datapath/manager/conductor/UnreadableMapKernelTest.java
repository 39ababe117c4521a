package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.MapSpec;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.IpcacheEntry;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.BpfMapException;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.MapProperties;
import agent.reconcile.DesiredTable;
import agent.reconcile.ImmediateChanges;
import agent.reconcile.Reconciler;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** A map that cannot be read is not an empty one: what compares it with the desired state fails. */
@KernelTest
class UnreadableMapKernelTest {
  private static final int BPF_F_WRONLY = 1 << 4;
  private static final MapDefinitions SHIPPED = MapDefinitions.of("endpoint", "prefilter");

  @Test
  void shouldNotTakeAPolicyMapThatCannotBeReadForAnEmptyOne() {
    try (BpfMap map = unreadable(SHIPPED.policy(12))) {
      final Reconciler reconciler = new Reconciler(System::nanoTime, new RefusedEntries());
      final DesiredTable table =
          reconciler.addUnread(new SharedPolicy(12, map, null, new KernelFaults()).table());
      final List<RuntimeException> failures = new ArrayList<>();
      reconciler.submit(
          (batch, limit) -> {
            batch.read(table);
            return false;
          },
          failures::add);
      while (failures.isEmpty()) {
        reconciler.step();
      }
      assertEquals("map policy_00012: walk (all): EPERM", failures.getFirst().getMessage());
      assertFalse(table.isAdopted());
    }
  }

  @Test
  void shouldNotTakeOverEndpointsThatCannotBeRead() {
    try (BpfMap map = unreadable(SHIPPED.get(MapCatalog.ENDPOINTS).withMaxEntries(16))) {
      final BpfMapException failure =
          assertThrows(
              BpfMapException.class,
              () ->
                  new EndpointEntries(
                      new ImmediateChanges(new Reconciler(System::nanoTime, new RefusedEntries())),
                      map,
                      null,
                      null,
                      new KernelFaults(),
                      new Repairs(),
                      new EntryOptions(Set.of(), true)));
      assertEquals("map endpoints: walk (all): EPERM", failure.getMessage());
    }
  }

  @Test
  void shouldNotCompareAnIpcacheThatCannotBeRead() throws Exception {
    final DatapathConductor conductor =
        new DatapathConductor(System::nanoTime, new RefusedEntries(), () -> 0);
    for (final MapProperties name : List.of(MapCatalog.IPCACHE4, MapCatalog.IPCACHE6)) {
      try (BpfMap whole4 = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE4).withMaxEntries(16), "");
          BpfMap whole6 = BpfMap.create(SHIPPED.get(MapCatalog.IPCACHE6).withMaxEntries(16), "");
          BpfMap map = unreadable(SHIPPED.get(name).withMaxEntries(16))) {
        final boolean isIpv4 = name.equals(MapCatalog.IPCACHE4);
        final CompletableFuture<List<IpcacheEntry>> read =
            new IpcacheMaps(
                    conductor,
                    null,
                    isIpv4 ? map : whole4,
                    isIpv4 ? whole6 : map,
                    new KernelFaults(),
                    new Repairs())
                .read();
        conductor.doWork();
        final ExecutionException failure = assertThrows(ExecutionException.class, read::get);
        assertEquals("map " + map.name() + ": walk (all): EPERM", failure.getCause().getMessage());
      }
    }
  }

  private static BpfMap unreadable(MapDefinition definition) {
    final MapSpec spec = definition.spec();
    return BpfMap.create(
        new MapDefinition(
            new MapSpec(
                spec.type(),
                spec.name(),
                spec.keySize(),
                spec.valueSize(),
                spec.maxEntries(),
                spec.flags() | BPF_F_WRONLY,
                spec.inner()),
            definition.format(),
            definition.hasMirror()),
        "");
  }
}
