package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import agent.dns.OneAtATime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PromptReportsTest {
  private final ProxyLoop loop = new ProxyLoop();

  @AfterEach
  void close() {
    loop.close();
  }

  private void start() {
    loop.start(() -> {}, () -> {});
  }

  private Thread promptThread() throws Exception {
    final CompletableFuture<Thread> ran = new CompletableFuture<>();
    loop.tellPromptly(() -> ran.complete(Thread.currentThread()));
    return ran.get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldDoPromptWorkOnTheThreadOfTheCallerWhereItsOwnWaits() throws Exception {
    start();
    while (promptThread() != Thread.currentThread()) {
      Thread.sleep(1); // it has only begun, or its tick was due
    }
  }

  @Test
  void shouldDoPromptWorkLaterWhileItWorks() throws Exception {
    start();
    final CountDownLatch isAtWork = new CountDownLatch(1);
    final CountDownLatch goesOn = new CountDownLatch(1);
    final CompletableFuture<Thread> own = new CompletableFuture<>();
    loop.tell(
        () -> {
          own.complete(Thread.currentThread());
          isAtWork.countDown();
          awaitUnchecked(goesOn);
        });
    isAtWork.await();
    final CompletableFuture<Thread> ran = new CompletableFuture<>();
    try {
      loop.tellPromptly(() -> ran.complete(Thread.currentThread()));
      assertFalse(ran.isDone(), "one at a time");
    } finally {
      goesOn.countDown();
    }
    assertSame(own.join(), ran.get(10, TimeUnit.SECONDS));
    assertNotSame(own.join(), Thread.currentThread());
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldDoWhatIsLeftForLaterOnItsOwnThread() throws Exception {
    start();
    final CompletableFuture<Thread> ran = new CompletableFuture<>();
    loop.tellPromptly(() -> loop.later(() -> ran.complete(Thread.currentThread())));
    assertEquals(DnsProxy.THREAD, ran.get(10, TimeUnit.SECONDS).getName());
  }

  @Test
  void shouldDoOneThingAtATime() throws Exception {
    start();
    new OneAtATime()
        .assertHolds(
            (work, thread) -> {
              if (thread == 0) {
                loop.tell(work);
              } else {
                loop.tellPromptly(work);
              }
            });
  }

  @Test
  void shouldGoOnAfterPromptWorkThatFails() throws Exception {
    start();
    loop.tellPromptly(
        () -> {
          throw new IllegalStateException("a planted failure");
        });
    promptThread();
  }

  @Test
  void shouldDoNothingAfterItsEnd() throws Exception {
    start();
    loop.close();
    final CompletableFuture<Void> ran = new CompletableFuture<>();
    loop.tellPromptly(() -> ran.complete(null));
    assertFalse(ran.isDone());
  }

  private static boolean waitsForItsTurn(Thread thread) {
    return LockSupport.getBlocker(thread) instanceof AbstractOwnableSynchronizer
        && thread.getState() == Thread.State.WAITING;
  }

  /** Returns whether something is done while a caller is at work, or else the thread waits. */
  private boolean isDoneMeanwhile(Runnable happens, BooleanSupplier isDone) throws Exception {
    final CompletableFuture<Thread> own = new CompletableFuture<>();
    loop.tell(() -> own.complete(Thread.currentThread()));
    final Thread thread = own.join();
    final CompletableFuture<Boolean> seen = new CompletableFuture<>();
    while (!seen.isDone()) {
      loop.tellPromptly(
          () -> {
            if (Thread.currentThread() != thread) {
              happens.run();
              while (!isDone.getAsBoolean() && !waitsForItsTurn(thread)) {
                Thread.onSpinWait();
              }
              seen.complete(isDone.getAsBoolean());
            }
          });
    }
    return seen.join();
  }

  @Test
  void shouldUseNoSocketWhileACallerIsAtWork() throws Exception {
    start();
    final Pipe pipe = Pipe.open();
    final CompletableFuture<Void> isUsed = new CompletableFuture<>();
    loop.tell(() -> register(pipe, isUsed));
    assertFalse(isDoneMeanwhile(() -> writeTo(pipe), isUsed::isDone));
    isUsed.get(10, TimeUnit.SECONDS);
  }

  private void register(Pipe pipe, CompletableFuture<Void> isUsed) {
    try {
      loop.register(
          pipe.source(),
          SelectionKey.OP_READ,
          new ProxyLoop.Socket() {
            @Override
            public void onReady(SelectionKey key) {
              key.cancel();
              isUsed.complete(null);
            }

            @Override
            public void onFailed() {
              throw new AssertionError("it does not fail");
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void writeTo(Pipe pipe) {
    try {
      pipe.sink().write(ByteBuffer.wrap(new byte[] {1}));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldDoPromptWorkAtTheTimeOfTheCall() {
    final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE);
    final ProxyLoop timed = new ProxyLoop(nowNs::get);
    nowNs.addAndGet(7);
    final AtomicLong seenNs = new AtomicLong();
    timed.tellPromptly(() -> seenNs.set(timed.nowNs()));
    assertEquals(nowNs.get(), seenNs.get());
    timed.start(() -> {}, () -> {});
    timed.close();
  }
}
