package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.Errno;
import agent.maps.kernel.BpfMapException;
import agent.reconcile.RefusedEntries;
import agent.types.Refusal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class DatapathConductorTest {
  private int left = 3;
  private final DatapathConductor conductor =
      new DatapathConductor(() -> 0, new RefusedEntries(), () -> left > 0 ? left-- : 0);

  @Test
  void shouldCountTheWritesThatItTriesAgainAsWork() throws Exception {
    assertEquals("dp-conductor", conductor.roleName());
    assertEquals(3, conductor.doWork());
    assertEquals(2, conductor.doWork());
    assertEquals(1, conductor.doWork());
    assertEquals(0, conductor.doWork());
  }

  @Test
  void shouldTellTheCallerThatAMapIsFull() throws Exception {
    final CompletableFuture<Void> answer =
        conductor.run(
            () -> {
              throw new BpfMapException("map m: update", Errno.ENOSPC);
            });
    conductor.doWork();
    final Throwable cause = assertThrows(CompletionException.class, answer::join).getCause();
    assertEquals(Refusal.Kind.EXHAUSTED, assertInstanceOf(Refusal.class, cause).kind());
  }
}
