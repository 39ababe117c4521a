package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.service.SocketServices;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.attach.SocketAttachments;
import agent.datapath.programs.load.MapPins;
import agent.datapath.programs.load.OpenMaps;
import agent.datapath.spec.DatapathContext;
import agent.datapath.spec.ServiceEntries;
import agent.maps.kernel.MapRegistry;
import agent.reconcile.RefusedEntries;
import agent.testkit.KernelTest;
import agent.testkit.OtherThread;
import agent.types.IpAddress;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** The verifier has the programs at sockets once, however many services come first. */
@KernelTest
class SharedLoadKernelTest {
  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final List<CompletableFuture<BpfObject>> loads = new CopyOnWriteArrayList<>();
  private final List<OtherThread<CompletableFuture<Void>>> others = new ArrayList<>();
  private volatile Runnable inTheMiddle = () -> {};

  private CompletableFuture<BpfObject> load() {
    final Runnable call = inTheMiddle;
    inTheMiddle = () -> {};
    call.run();
    loads.add(new CompletableFuture<>());
    return loads.getLast();
  }

  private static ServiceEntries service(int id) {
    return new ServiceEntries(id, IpAddress.ofIpv4(id), 80, List.of(6), 0, List.of());
  }

  private SocketServices services(DatapathContext context, Pins pins, OpenMaps maps) {
    return new SocketServices(
        new DatapathConductor(System::nanoTime, new RefusedEntries(), () -> 0), // no thread runs it
        maps,
        null,
        new SocketAttachments(pins, null, program -> load()),
        context,
        faults,
        repairs);
  }

  @Test
  void shouldLoadTheProgramsOnceForAllThatWaitForThemAndAgainAfterAFailure() throws Exception {
    LibBpf.ensureLoaded();
    try (ManagerTestNode node = new ManagerTestNode()) {
      final DatapathContext context = node.context().conclude();
      final Pins pins = Pins.prepare(context.bpfRoot());
      final MapPins mapPins = new MapPins(faults, repairs);
      try (OpenMaps maps = OpenMaps.open(context, pins, new MapRegistry(), mapPins)) {
        final SocketServices services = services(context, pins, maps);
        final CompletableFuture<Void> first = services.put(service(1));
        final CompletableFuture<Void> second = services.put(service(2));
        assertEquals(1, loads.size());
        final OperationException failure = new OperationException("refused");
        loads.getFirst().completeExceptionally(failure);
        for (final CompletableFuture<Void> put : List.of(first, second)) {
          assertSame(failure, assertThrows(CompletionException.class, put::join).getCause());
        }
        assertFalse(services.put(service(3)).isDone());
        assertEquals(2, loads.size(), "not those that have failed");
      }
    }
  }

  @Test
  void shouldLoadTheProgramsOnceForTwoThreads() throws Exception {
    LibBpf.ensureLoaded();
    try (ManagerTestNode node = new ManagerTestNode()) {
      final DatapathContext context = node.context().conclude();
      final Pins pins = Pins.prepare(context.bpfRoot());
      final MapPins mapPins = new MapPins(faults, repairs);
      try (OpenMaps maps = OpenMaps.open(context, pins, new MapRegistry(), mapPins)) {
        final SocketServices services = services(context, pins, maps);
        inTheMiddle =
            () -> {
              others.add(OtherThread.call(() -> services.put(service(2))));
              assertTrue(others.getFirst().waits(), "it waits for the begin of the load");
            };
        assertFalse(services.put(service(1)).isDone());
        assertFalse(others.getFirst().result().isDone());
        assertEquals(1, loads.size());
      }
    }
  }
}
