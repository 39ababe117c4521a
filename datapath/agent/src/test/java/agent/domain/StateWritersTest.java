package agent.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.RecordedLog;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StateWritersTest {
  private static final int WAITING = 20;

  private final StateWriters writers = new StateWriters();

  @Test
  void shouldWriteEightFilesAtOnceOnDaemonThreadsOfTheirOwn() throws Exception {
    final CyclicBarrier all = new CyclicBarrier(9);
    final Set<String> names = new ConcurrentSkipListSet<>();
    for (int i = 0; i < 8; i++) {
      writers.execute(
          () -> {
            names.add(Thread.currentThread().getName() + Thread.currentThread().isDaemon());
            await(all);
          });
    }
    all.await(30, TimeUnit.SECONDS);
    writers.close();
    final Set<String> expected = new TreeSet<>();
    for (int i = 1; i <= 8; i++) {
      expected.add("state-writer-" + i + "true");
    }
    assertEquals(expected, names);
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(30, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldWaitForWritesThatHaveBegunAndTakeNoFurtherOnes() throws Exception {
    final CountDownLatch started = new CountDownLatch(1);
    final AtomicInteger written = new AtomicInteger();
    writers.execute(
        () -> {
          started.countDown();
          if (pauses()) {
            written.incrementAndGet();
          }
        });
    started.await();
    for (int i = 0; i < WAITING; i++) {
      writers.execute(written::incrementAndGet); // more than there are threads
    }
    try (RecordedLog log = RecordedLog.of(StateWriters.class)) {
      writers.close();
      assertEquals(List.of(), log.take());
    }
    assertEquals(1 + WAITING, written.get());
    assertThrows(RejectedExecutionException.class, () -> writers.execute(() -> {}));
  }

  /** Returns whether it was not interrupted. */
  private static boolean pauses() {
    try {
      Thread.sleep(300);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Test
  void shouldNotWaitOnceItsThreadIsInterrupted() throws Exception {
    final CountDownLatch end = new CountDownLatch(1);
    writers.execute(
        () -> {
          try {
            end.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    Thread.currentThread().interrupt();
    writers.close();
    assertTrue(Thread.interrupted(), "the caller sees it, too");
    assertFalse(Thread.interrupted());
    end.countDown();
  }
}
