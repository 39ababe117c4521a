package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the thread of the proxy does, in which order, and when. */
@Timeout(60)
class ProxyLoopTest {
  private final ProxyLoop loop = new ProxyLoop();
  private final BlockingQueue<Long> ticks = new LinkedBlockingQueue<>();
  private final AtomicInteger ends = new AtomicInteger();

  private void start() {
    loop.start(() -> ticks.add(loop.nowNs()), ends::incrementAndGet);
  }

  @AfterEach
  void end() {
    loop.close();
  }

  /** Waits until all work before is done, and returns the thread that has done it. */
  private Thread runner() {
    final CompletableFuture<Thread> runner = new CompletableFuture<>();
    loop.tell(() -> runner.complete(Thread.currentThread()));
    return runner.join();
  }

  @Test
  void shouldDoReportsInTheirOrderAndGoOnAfterAFailure() {
    start();
    final List<Integer> done = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      final int number = i;
      loop.tell(
          () -> {
            done.add(number);
            if (number == 50) {
              throw new IllegalStateException("planned");
            }
          });
    }
    final Thread thread = runner();
    assertEquals("dns-proxy", thread.getName());
    assertTrue(thread.isDaemon());
    assertEquals(100, done.size());
    for (int i = 0; i < 100; i++) {
      assertEquals(i, done.get(i));
    }
  }

  @Test
  void shouldDoLaterWorkAfterThePresentOneWithoutWaiting() throws Exception {
    start();
    final List<String> done = new ArrayList<>();
    final CompletableFuture<Long> last = new CompletableFuture<>();
    final long startNs = System.nanoTime();
    loop.tell(
        () -> {
          loop.later(() -> again(400, done, last)); // 20 s where each waits for a tick
          done.add("now");
        });
    final long tookMs = TimeUnit.NANOSECONDS.toMillis(last.join() - startNs);
    assertEquals("now", done.getFirst());
    assertEquals(401, done.size());
    assertTrue(tookMs < 10_000, tookMs + " ms");
  }

  private void again(int left, List<String> done, CompletableFuture<Long> last) {
    done.add("later");
    if (left > 1) {
      loop.later(() -> again(left - 1, done, last));
    } else {
      last.complete(System.nanoTime());
    }
  }

  @Test
  void shouldDoAllReportsBeforeLaterWork() {
    start();
    final List<String> done = new ArrayList<>();
    final CompletableFuture<List<String>> later = new CompletableFuture<>();
    loop.tell(
        () -> {
          loop.later(() -> later.complete(List.copyOf(done)));
          loop.tell(() -> done.add("first"));
          loop.tell(() -> done.add("second"));
        });
    assertEquals(List.of("first", "second"), later.join());
  }

  @Test
  void shouldDo4096ReportsInACycle() {
    final AtomicInteger done = new AtomicInteger();
    final CompletableFuture<Integer> later = new CompletableFuture<>();
    loop.tell(() -> loop.later(() -> later.complete(done.get())));
    for (int i = 0; i < 10_000; i++) {
      loop.tell(done::incrementAndGet);
    }
    start();
    assertEquals(4_095, later.join());
    runner();
    assertEquals(10_000, done.get());
  }

  @Test
  void shouldDoWhatOtherThreadsTellWhileItWaits() throws Exception {
    start();
    final Thread thread = runner();
    long medianNs = Long.MAX_VALUE; // the machine may be busy
    for (int i = 0; i < 3 && medianNs >= TimeUnit.MILLISECONDS.toNanos(20); i++) {
      medianNs = medianNs(thread);
    }
    assertTrue(medianNs < TimeUnit.MILLISECONDS.toNanos(20), medianNs + " ns");
  }

  /** Returns the median time from telling to doing while it waits. */
  private long medianNs(Thread thread) throws Exception {
    final List<Long> tookNs = new ArrayList<>();
    for (int i = 0; i < 15; i++) {
      ticks.take(); // the next wait is as long as it can be
      ProxyRig.await(() -> isSelecting(thread));
      final long startNs = System.nanoTime();
      runner();
      tookNs.add(System.nanoTime() - startNs);
    }
    tookNs.sort(null);
    return tookNs.get(7);
  }

  private static boolean isSelecting(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getMethodName().equals("select"));
  }

  @Test
  void shouldUseNoProcessorBetweenItsTicks() throws Exception {
    start();
    final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    final long id = runner().threadId();
    ticks.take();
    final long beforeNs = threads.getThreadCpuTime(id);
    for (int i = 0; i < 4; i++) {
      ticks.take();
    }
    final long usedNs = threads.getThreadCpuTime(id) - beforeNs;
    assertTrue(usedNs < TimeUnit.MILLISECONDS.toNanos(15), usedNs + " ns");
  }

  @Test
  void shouldTickEvery50MsAlsoWhileItHasWorkWithoutEnd() throws Exception {
    final long startNs = System.nanoTime();
    start();
    final List<Long> seen = new ArrayList<>(List.of(startNs, ticks.take(), ticks.take()));
    loop.tell(() -> tellAgain(() -> loop.nowNs()));
    seen.add(ticks.take());
    seen.add(ticks.take());
    for (int i = 1; i < seen.size(); i++) {
      final long betweenNs = seen.get(i) - seen.get(i - 1);
      assertTrue(betweenNs >= TimeUnit.MILLISECONDS.toNanos(50), betweenNs + " ns");
      assertTrue(betweenNs < TimeUnit.SECONDS.toNanos(10), betweenNs + " ns");
    }
  }

  private void tellAgain(Runnable work) {
    work.run();
    loop.tell(() -> tellAgain(work));
  }

  @Test
  void shouldKnowWhenItsCycleBegan() throws Exception {
    start();
    ticks.take();
    final long beforeNs = System.nanoTime();
    final CompletableFuture<Long> begun = new CompletableFuture<>();
    loop.tell(() -> begun.complete(loop.nowNs()));
    final long nowNs = begun.join();
    assertTrue(nowNs - beforeNs >= 0);
    assertTrue(System.nanoTime() - nowNs >= 0);
  }

  @Test
  void shouldTellASocketOfItsFailure() throws Exception {
    start();
    assertEquals("failed", failing(new IOException("planned")).take());
    assertEquals("failed", failing(new IllegalStateException("planned")).take());
    assertEquals("dns-proxy", runner().getName());
  }

  private BlockingQueue<String> failing(Exception failure) throws IOException {
    final BlockingQueue<String> called = new LinkedBlockingQueue<>();
    final Pipe pipe = Pipe.open();
    pipe.sink().write(ByteBuffer.wrap(new byte[] {1}));
    final ProxyLoop.Socket socket =
        new ProxyLoop.Socket() {
          @Override
          public void onReady(SelectionKey key) throws IOException {
            key.cancel();
            if (failure instanceof IOException expected) {
              throw expected;
            }
            throw new IllegalStateException(failure);
          }

          @Override
          public void onFailed() {
            called.add("failed");
          }
        };
    loop.tell(
        () -> {
          try {
            final SelectionKey key = loop.register(pipe.source(), SelectionKey.OP_READ, socket);
            if (key == null || key.channel().isBlocking()) {
              called.add("not registered");
            }
          } catch (IOException e) {
            called.add(e.toString());
          }
        });
    return called;
  }

  @Test
  void shouldKeepTheInterruptOfWhoClosesIt() {
    final CompletableFuture<Void> seen = new CompletableFuture<>();
    loop.start(() -> {}, seen::join); // the thread lives until the interrupt is seen
    runner();
    Thread.currentThread().interrupt();
    loop.close();
    final boolean isKept = Thread.interrupted();
    seen.complete(null);
    assertTrue(isKept);
  }

  @Test
  void shouldEndOnce() throws Exception {
    start();
    final Thread thread = runner();
    assertEquals(0, ends.get());
    loop.close();
    assertFalse(thread.isAlive());
    assertEquals(1, ends.get());
    final Pipe pipe = Pipe.open();
    assertThrows(
        ClosedSelectorException.class,
        () -> loop.register(pipe.source(), SelectionKey.OP_READ, null));
    loop.close();
    assertEquals(1, ends.get());
  }
}
