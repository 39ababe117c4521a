package agent.datapath.manager.conductor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.HeapAllocation;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.AgentRunner;
import org.junit.jupiter.api.Test;

class DatapathConductorTest {
  private final ParkingIdleStrategy idle = new ParkingIdleStrategy();
  private final DatapathConductor conductor = new DatapathConductor(idle, () -> 0);

  @Test
  void shouldCarryOutCommandsInOrderAndABoundedNumberACycle() {
    final List<Integer> done = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      final int number = i;
      conductor.submit(() -> done.add(number));
    }
    assertEquals(16, conductor.doWork());
    assertEquals(16, conductor.doWork());
    assertEquals(8, conductor.doWork());
    assertEquals(0, conductor.doWork());
    for (int i = 0; i < 40; i++) {
      assertEquals(i, done.get(i));
    }
  }

  @Test
  void shouldGiveWhatACommandThrowsToItsCallerAlone() {
    final CompletableFuture<Object> bad =
        conductor.submit(
            () -> {
              throw new IllegalStateException("link: EPERM");
            });
    final CompletableFuture<String> good = conductor.submit(() -> "done");
    conductor.doWork();
    final CompletionException failure = assertThrows(CompletionException.class, bad::join);
    final Refusal refusal = (Refusal) failure.getCause();
    assertEquals(Refusal.Kind.FAILED, refusal.kind());
    assertEquals("link: EPERM", refusal.getMessage());
    assertEquals("done", good.join());
  }

  @Test
  void shouldLetCommandsGoOnBetweenTheStepsOfLongWork() {
    final Steps work = new Steps(3, -1);
    conductor.submit(work);
    conductor.doWork();
    final CompletableFuture<Integer> between = conductor.submit(() -> work.done);
    conductor.doWork();
    assertEquals(1, between.join());
    conductor.doWork();
    conductor.doWork();
    assertEquals(3, work.done);
  }

  @Test
  void shouldTellLongWorkOfItsFailureAndGoOnWithTheNext() {
    final Steps bad = new Steps(3, 1);
    final Steps next = new Steps(1, -1);
    conductor.submit(bad);
    conductor.submit(next);
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals("step 1", bad.failure.getMessage());
    assertEquals(1, next.done);
  }

  @Test
  void shouldRefuseWhatComesAfterCloseAndWhatIsStillQueued() {
    final CompletableFuture<String> queued = conductor.submit(() -> "done");
    final Steps work = new Steps(1, -1);
    conductor.onClose();
    conductor.submit(work);
    for (final CompletableFuture<String> future : List.of(queued, conductor.submit(() -> "done"))) {
      final CompletionException failure = assertThrows(CompletionException.class, future::join);
      assertEquals(Refusal.Kind.UNAVAILABLE, ((Refusal) failure.getCause()).kind());
    }
    assertEquals(Refusal.Kind.UNAVAILABLE, ((Refusal) work.failure).kind());
  }

  @Test
  void shouldAllocateNothingWhenIdle() {
    final Runnable cycle =
        () -> {
          conductor.doWork();
        };
    HeapAllocation.of(20_000, cycle);
    assertEquals(0, HeapAllocation.steady(100_000, cycle));
  }

  @Test
  void shouldWakeFromAParkAsSoonAsACommandComes() throws Exception {
    final AgentRunner runner = new AgentRunner(idle, Throwable::printStackTrace, null, conductor);
    final Thread thread = AgentRunner.startOnThread(runner);
    assertEquals("dp-conductor", thread.getName());
    final AtomicInteger served = new AtomicInteger();
    final long start = System.nanoTime();
    for (int i = 0; i < 50; i++) {
      while (thread.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      assertSame(
          thread,
          conductor
              .submit(
                  () -> {
                    served.incrementAndGet();
                    return Thread.currentThread();
                  })
              .get(5, TimeUnit.SECONDS));
    }
    assertTrue(
        System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(50 * 100),
        "a park of 100 ms was not waited for 50 times");
    idle.stop();
    runner.close();
    assertEquals(50, served.get());
    assertFalse(thread.isAlive());
  }

  private static final class Steps implements Work {
    private final int count;
    private final int failsAt;
    private int done;
    private RuntimeException failure;

    Steps(int count, int failsAt) {
      this.count = count;
      this.failsAt = failsAt;
    }

    @Override
    public boolean step() {
      if (done == failsAt) {
        throw new IllegalStateException("step " + done);
      }
      return ++done == count;
    }

    @Override
    public void failed(RuntimeException cause) {
      failure = cause;
    }
  }
}
