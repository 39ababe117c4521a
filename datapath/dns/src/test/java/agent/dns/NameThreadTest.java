package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.AgentThreads;
import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NameThreadTest {
  private int ended;
  private final NameThread names = new NameThread(() -> ended++);
  private final AgentThreads threads =
      new AgentThreads(Thread::new, System::nanoTime, new HealthBoard(() -> 0));
  private int count;

  @BeforeEach
  void start() {
    names.start(threads, new Faults("all is well"));
  }

  @AfterEach
  void close() {
    names.close();
  }

  @Test
  void shouldWorkOnTheThreadOfTheCallerWhereNoOtherIsAtWork() {
    final CompletableFuture<Thread> ran = new CompletableFuture<>();
    assertTrue(names.isDoneNow(() -> ran.complete(Thread.currentThread())));
    assertSame(Thread.currentThread(), ran.getNow(null));
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldRefuseACallerWhileAnotherThreadOrItselfIsAtWork() throws Exception {
    final CountDownLatch isAtWork = new CountDownLatch(1);
    final CountDownLatch goesOn = new CountDownLatch(1);
    names.execute(
        () -> {
          isAtWork.countDown();
          await(goesOn);
        });
    isAtWork.await();
    assertFalse(names.isDoneNow(() -> count++));
    goesOn.countDown();
    final CompletableFuture<Boolean> within = new CompletableFuture<>();
    names.execute(() -> within.complete(names.isDoneNow(() -> count++)));
    assertFalse(within.get(10, TimeUnit.SECONDS));
    assertEquals(0, count);
  }

  @Test
  void shouldDoOneThingAtATime() throws Exception {
    new OneAtATime()
        .assertHolds(
            (work, thread) -> {
              if (!names.isDoneNow(work)) {
                while (names.execute(work).isCompletedExceptionally()) {
                  Thread.onSpinWait(); // the queue is full
                }
              }
            });
  }

  @Test
  void shouldDoAgainWhatItRepeatsOnItsThread() throws Exception {
    final CountDownLatch cycles = new CountDownLatch(3);
    final Set<String> threads = ConcurrentHashMap.newKeySet();
    names.repeat(
        () -> {
          threads.add(Thread.currentThread().getName());
          cycles.countDown();
        },
        1);
    cycles.await();
    assertEquals(Set.of("names"), threads);
  }

  @Test
  void shouldRefuseACallerWhileItRepeatsItsWork() throws Exception {
    final CountDownLatch isAtWork = new CountDownLatch(1);
    final CountDownLatch goesOn = new CountDownLatch(1);
    names.repeat(
        () -> {
          isAtWork.countDown();
          await(goesOn);
        },
        1);
    isAtWork.await();
    final boolean isDone = names.isDoneNow(() -> count++);
    goesOn.countDown();
    assertFalse(isDone);
    assertEquals(0, count);
  }

  @Test
  void shouldDoNothingAfterItsEnd() {
    names.close();
    assertFalse(names.isDoneNow(() -> count++));
    final CompletionException refused =
        assertThrows(CompletionException.class, names.execute(() -> count++)::join);
    assertEquals("names is closed", refused.getCause().getMessage());
    assertEquals(0, count);
    assertEquals(1, ended);
  }
}
