package agent.conductor;

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

class ConductorAgentTest {
  private long nowNs;
  private final ConductorAgent conductor = new ConductorAgent("test-conductor", () -> nowNs);

  @Test
  void shouldExecuteCommandsInOrderAndABoundedNumberPerCycle() {
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
  void shouldReportTheExceptionOfACommandOnlyToItsCaller() {
    final CompletableFuture<Object> bad =
        conductor.submit(
            () -> {
              throw new IllegalStateException("link: EPERM");
            });
    final CompletableFuture<String> good = conductor.submit(() -> "done");
    conductor.doWork();
    final CompletionException failure =
        assertThrows(CompletionException.class, () -> bad.getNow(null));
    assertEquals(IllegalStateException.class, failure.getCause().getClass());
    assertEquals("link: EPERM", failure.getCause().getMessage());
    assertEquals("done", good.getNow(null));
  }

  @Test
  void shouldExecuteCommandsBetweenTheStepsOfLongWork() {
    final Steps work = new Steps(3, -1);
    conductor.begin(work);
    conductor.doWork();
    final CompletableFuture<Integer> between = conductor.submit(() -> work.done);
    conductor.doWork();
    assertEquals(1, between.getNow(null));
    conductor.doWork();
    conductor.doWork();
    assertEquals(3, work.done);
  }

  @Test
  void shouldReportAFailedStepToItsWorkAndContinueWithTheNextWork() {
    final Steps bad = new Steps(3, 1);
    final Steps next = new Steps(1, -1);
    conductor.begin(bad);
    conductor.begin(next);
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals("step 1", bad.failure.getMessage());
    assertEquals(1, next.done);
  }

  @Test
  void shouldRefuseQueuedAndLaterCommandsAfterClose() {
    final CompletableFuture<String> queued = conductor.submit(() -> "done");
    final Steps work = new Steps(1, -1);
    conductor.onClose();
    conductor.begin(work);
    for (final CompletableFuture<String> future : List.of(queued, conductor.submit(() -> "done"))) {
      final CompletionException failure =
          assertThrows(CompletionException.class, () -> future.getNow(null));
      assertEquals(Refusal.Kind.UNAVAILABLE, ((Refusal) failure.getCause()).kind());
    }
    assertEquals(Refusal.Kind.UNAVAILABLE, ((Refusal) work.failure).kind());
  }

  @Test
  void shouldStepOtherWorkWhileOneWaitsForAFuture() {
    final CompletableFuture<String> slow = new CompletableFuture<>();
    final List<String> done = new ArrayList<>();
    conductor.begin(
        new StepSequence(conductor::wake)
            .thenAwait(() -> slow)
            .then(() -> done.add("after " + slow.join()))
            .onDone(() -> done.add("end")));
    conductor.begin(new StepSequence(conductor::wake).then(() -> done.add("other")));
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals(List.of("other"), done);
    slow.complete("loading");
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals(List.of("other", "after loading", "end"), done);
  }

  @Test
  void shouldSkipTheStepsAfterAFailedOne() {
    final List<String> done = new ArrayList<>();
    conductor.begin(
        new StepSequence(conductor::wake)
            .thenAwait(() -> CompletableFuture.failedFuture(new IllegalStateException("EPERM")))
            .then(() -> done.add("after"))
            .onDone(() -> done.add("end"))
            .onFailure(failure -> done.add(failure.getMessage())));
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals(List.of("EPERM"), done);
  }

  @Test
  void shouldExecuteAScheduledCommandWhenItIsDue() {
    final List<String> done = new ArrayList<>();
    conductor.schedule(100, () -> done.add("second"));
    conductor.schedule(50, () -> done.add("first"));
    conductor.doWork();
    assertEquals(List.of(), done);
    nowNs = 50;
    conductor.doWork();
    assertEquals(List.of("first"), done);
    nowNs = 101;
    conductor.doWork();
    assertEquals(List.of("first", "second"), done);
  }

  @Test
  void shouldCountCommandsAndStepsButNotIdleCycles() {
    conductor.submit(() -> "one");
    conductor.begin(new Steps(2, -1));
    for (int i = 0; i < 10; i++) {
      conductor.doWork();
    }
    assertEquals(
        4, conductor.executed(), "a command, the command that queues the work, and two steps");
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
  void shouldWakeFromAParkWhenACommandIsSubmitted() throws Exception {
    final AgentRunner runner =
        new AgentRunner(conductor.idleStrategy(), Throwable::printStackTrace, null, conductor);
    final Thread thread = AgentRunner.startOnThread(runner);
    assertEquals("test-conductor", thread.getName());
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
        "a command ends the park of 100 ms");
    conductor.idleStrategy().stop();
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
    public Progress step() {
      if (done == failsAt) {
        throw new IllegalStateException("step " + done);
      }
      return ++done == count ? Progress.DONE : Progress.WORKED;
    }

    @Override
    public void failed(RuntimeException cause) {
      failure = cause;
    }
  }
}
