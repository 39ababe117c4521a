package agent.datapath.manager.redirect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.bpf.BpfObject;
import agent.datapath.programs.attach.Pins;
import agent.testkit.KernelTest;
import agent.testkit.OtherThread;
import agent.testkit.TemporaryBpfFileSystem;
import agent.types.OperationException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The filters of the proxies' sockets, for two threads that start a proxy. */
@KernelTest
class ProxyFilterPinsKernelTest {
  private final List<OtherThread<?>> others = new CopyOnWriteArrayList<>();
  private final List<Boolean> waiting = new CopyOnWriteArrayList<>();
  private ProxyFilterPins filters;

  /** Is asked for in the middle of a load, and fails it. */
  private CompletableFuture<BpfObject> load() {
    if (others.isEmpty()) {
      others.add(OtherThread.call(filters::load));
      waiting.add(others.getFirst().waits());
    }
    return CompletableFuture.failedFuture(new OperationException("refused"));
  }

  /** Otherwise the pin of one could be replaced by that of the other while its process opens it. */
  @Test
  void shouldPinThoseOfOneLoadAfterTheOther() {
    try (TemporaryBpfFileSystem bpf = TemporaryBpfFileSystem.mount()) {
      filters = new ProxyFilterPins(Pins.prepare(bpf.path()), program -> load());
      for (final Executable start :
          List.<Executable>of(filters::load, () -> others.getFirst().result())) {
        assertEquals(
            "filters of the proxies' sockets: refused",
            assertThrows(OperationException.class, start).getMessage());
      }
      assertEquals(List.of(true), waiting);
    }
  }
}
