package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xnio.XnioExecutor.Key;

/** Tasks, timers and ready channels of an I/O thread. */
@Timeout(60)
class UnixIoThreadTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private UnixIoThread thread;

  @BeforeEach
  void start() throws IOException {
    thread = new UnixIoThread(3);
    thread.start();
  }

  @AfterEach
  void end() throws InterruptedException {
    thread.shutdown();
    assertTrue(thread.join(LIMIT));
  }

  /** Returns the thread that ran a task which was added after all others. */
  private Thread runner() {
    final CompletableFuture<Thread> runner = new CompletableFuture<>();
    thread.execute(() -> runner.complete(Thread.currentThread()));
    return runner.join();
  }

  @Test
  void shouldNotKeepTheProcessAndHaveItsNumberInItsName() {
    assertTrue(thread.isDaemon());
    assertEquals("api-io-3", thread.getName());
  }

  @Test
  void shouldRunTasksOnItselfInTheirOrderAndGoOnAfterOneThatFails() {
    final List<Integer> ran = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      final int number = i;
      thread.execute(
          () -> {
            ran.add(number);
            if (number == 50) {
              throw new IllegalStateException("planned");
            }
          });
    }
    assertSame(thread, runner());
    assertEquals(100, ran.size());
    for (int i = 0; i < 100; i++) {
      assertEquals(i, ran.get(i));
    }
  }

  @Test
  void shouldRunTimersOnceInTheOrderOfTheirTimesAndNotBefore() {
    final List<String> ran = new ArrayList<>();
    final CompletableFuture<Long> last = new CompletableFuture<>();
    final long startNs = System.nanoTime();
    thread.executeAfter(() -> ran.add("b"), 40, TimeUnit.MILLISECONDS);
    thread.executeAfter(() -> last.complete(System.nanoTime()), 120, TimeUnit.MILLISECONDS);
    thread.executeAfter(() -> ran.add("c"), 80, TimeUnit.MILLISECONDS);
    thread.executeAfter(() -> ran.add("a"), 0, TimeUnit.MILLISECONDS);
    final long tookNs = last.join() - startNs;
    assertTrue(tookNs >= TimeUnit.MILLISECONDS.toNanos(120), tookNs + " ns");
    assertSame(thread, runner());
    assertEquals(List.of("a", "b", "c"), ran);
  }

  @Test
  void shouldRepeatAPeriodicTimerUntilItIsRemoved() {
    final AtomicInteger runs = new AtomicInteger();
    final CompletableFuture<List<Long>> three = new CompletableFuture<>();
    final List<Long> times = new ArrayList<>();
    final long startNs = System.nanoTime();
    final Key key =
        thread.executeAtInterval(
            () -> {
              runs.incrementAndGet();
              times.add(System.nanoTime() - startNs);
              if (times.size() == 3) {
                three.complete(times);
              }
            },
            10,
            TimeUnit.MILLISECONDS);
    final List<Long> seen = three.join();
    for (int i = 0; i < 3; i++) {
      assertTrue(seen.get(i) >= TimeUnit.MILLISECONDS.toNanos(10) * (i + 1), seen.toString());
    }
    assertTrue(key.remove());
    assertSame(thread, runner());
    final int removedAt = runs.get();
    final CompletableFuture<Integer> later = new CompletableFuture<>();
    thread.executeAfter(() -> later.complete(runs.get()), 50, TimeUnit.MILLISECONDS);
    assertEquals(removedAt, later.join());
    assertFalse(key.remove(), "it is removed");
  }

  @Test
  void shouldNotRunATimerThatWasRemoved() {
    final AtomicInteger runs = new AtomicInteger();
    final CountDownLatch held = new CountDownLatch(1);
    thread.execute(() -> awaited(held));
    assertTrue(thread.executeAfter(runs::incrementAndGet, 1, TimeUnit.MILLISECONDS).remove());
    final CompletableFuture<Integer> later = new CompletableFuture<>();
    thread.executeAfter(() -> later.complete(runs.get()), 20, TimeUnit.MILLISECONDS);
    held.countDown();
    assertEquals(0, later.join());
  }

  private static void awaited(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void shouldTellAReadyChannelAndGoOnAfterOneThatFails() throws IOException {
    final Pipe pipe = Pipe.open();
    try (var source = pipe.source();
        var sink = pipe.sink()) {
      source.configureBlocking(false);
      final CompletableFuture<Integer> ready = new CompletableFuture<>();
      final CompletableFuture<SelectionKey> key = new CompletableFuture<>();
      key.complete(
          thread.register(
              source,
              SelectionKey.OP_READ,
              readyOps -> {
                key.join().interestOps(0);
                ready.complete(readyOps);
                throw new IllegalStateException("planned");
              }));
      sink.write(ByteBuffer.wrap(new byte[] {1}));
      assertEquals(SelectionKey.OP_READ, ready.join());
      assertSame(thread, runner());
    }
  }

  @Test
  void shouldWakeForAChannelThatIsReadyBefore() throws Exception {
    final Pipe pipe = Pipe.open();
    try (var source = pipe.source();
        var sink = pipe.sink()) {
      source.configureBlocking(false);
      sink.write(ByteBuffer.wrap(new byte[] {1}));
      assertSame(thread, runner());
      SleepingIoThread.await(thread);
      final CompletableFuture<Integer> ready = new CompletableFuture<>();
      thread.register(source, SelectionKey.OP_READ, ready::complete);
      assertEquals(SelectionKey.OP_READ, ready.join());
    }
  }

  @Test
  void shouldRunWhatItHasWhenItEndsAndRefuseMore() throws Exception {
    final CountDownLatch held = new CountDownLatch(1);
    final AtomicInteger ran = new AtomicInteger();
    thread.execute(() -> awaited(held));
    thread.execute(ran::incrementAndGet);
    thread.shutdown();
    held.countDown();
    assertTrue(thread.join(LIMIT));
    assertEquals(1, ran.get());
    assertThrows(RejectedExecutionException.class, () -> thread.execute(ran::incrementAndGet));
    assertSame(Key.IMMEDIATE, thread.executeAfter(ran::incrementAndGet, 0, TimeUnit.SECONDS));
    assertSame(Key.IMMEDIATE, thread.executeAtInterval(ran::incrementAndGet, 1, TimeUnit.DAYS));
    final Pipe pipe = Pipe.open();
    try (var source = pipe.source();
        var _ = pipe.sink()) {
      source.configureBlocking(false);
      assertThrows(
          ClosedSelectorException.class,
          () -> thread.register(source, SelectionKey.OP_READ, readyOps -> ran.incrementAndGet()));
    }
  }

  @Test
  void shouldRunWhatItHasWhenAnErrorEndsIt() throws Exception {
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch held = new CountDownLatch(1);
    final AtomicInteger ran = new AtomicInteger();
    final CompletableFuture<Throwable> end = new CompletableFuture<>();
    thread.setUncaughtExceptionHandler((ended, error) -> end.complete(error));
    final AssertionError error = new AssertionError("planned");
    thread.executeAfter(
        () -> {
          begun.countDown();
          awaited(held);
          throw error;
        },
        0,
        TimeUnit.SECONDS);
    begun.await();
    thread.execute(ran::incrementAndGet);
    held.countDown();
    assertSame(error, end.join());
    assertEquals(1, ran.get());
  }

  @Test
  void shouldUseNoProcessorUntilItsNextTimer() throws InterruptedException {
    thread.executeAfter(() -> {}, 1, TimeUnit.HOURS);
    assertSame(thread, runner());
    final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    final long beforeNs = threads.getThreadCpuTime(thread.threadId());
    Thread.sleep(300);
    final long usedNs = threads.getThreadCpuTime(thread.threadId()) - beforeNs;
    assertTrue(usedNs < TimeUnit.MILLISECONDS.toNanos(50), usedNs + " ns");
  }
}
