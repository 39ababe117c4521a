package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.process.PipeWriter;
import agent.testkit.OtherThread;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Frames that packets wait for, through the pipes of a real process that sends back what it has.
 */
@Timeout(60)
class PromptFramesTest {
  private static final int LONGEST = 1 << 20;
  private static final int SENDERS = 4;
  private static final int FRAMES = 3_000;

  /** More than a pipe holds. */
  private static final int MANY = 20_000;

  private final CountDownLatch failed = new CountDownLatch(1);
  private Process process;
  private FrameWriter writer;

  @BeforeEach
  void start() throws IOException {
    process = new ProcessBuilder("cat").start();
    writer =
        new FrameWriter(
            process.getOutputStream(),
            PipeWriter.open(Path.of("/proc", Long.toString(process.pid()), "fd", "0")),
            failed::countDown);
  }

  @AfterEach
  void end() throws Exception {
    writer.close();
    process.destroyForcibly().waitFor();
  }

  /** Returns the numbers of all frames until the end; those of a body have a filling behind. */
  private CompletableFuture<List<Integer>> read() {
    final List<Integer> numbers = new ArrayList<>();
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            new FrameReader(process.getInputStream(), LONGEST)
                .run(
                    (type, body) -> {
                      numbers.add(body.readInt());
                      body.readAllBytes();
                    });
            return numbers;
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private void signal(String name) throws Exception {
    assertEquals(
        0, new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor(), name);
  }

  private Thread threadThatWrites(FrameType type) throws Exception {
    final AtomicReference<Thread> wrote = new AtomicReference<>();
    final CountDownLatch isWritten = new CountDownLatch(1);
    writer.send(
        type,
        out -> {
          wrote.set(Thread.currentThread());
          out.writeInt(1);
          isWritten.countDown();
        });
    assertTrue(isWritten.await(10, TimeUnit.SECONDS));
    return wrote.get();
  }

  @Test
  void shouldHaveTheCallerWriteThoseThatPacketsWaitFor() throws Exception {
    for (final FrameType type :
        List.of(
            FrameType.FOUND,
            FrameType.RELEASED,
            FrameType.JOIN,
            FrameType.JOINED,
            FrameType.LEAVE)) {
      assertSame(Thread.currentThread(), threadThatWrites(type), type.name());
    }
    assertNotSame(Thread.currentThread(), threadThatWrites(FrameType.POLICY));
  }

  @Test
  void shouldKeepTheOrderOfEachCaller() throws Exception {
    final CompletableFuture<List<Integer>> read = read();
    final List<Thread> senders = new ArrayList<>();
    for (int i = 0; i < SENDERS; i++) {
      final int first = i * FRAMES;
      senders.add(Thread.ofPlatform().start(() -> sendAll(first)));
    }
    for (final Thread sender : senders) {
      sender.join();
    }
    writer.close();
    final List<Integer> numbers = read.get(30, TimeUnit.SECONDS);
    assertEquals(SENDERS * FRAMES, numbers.size());
    final int[] next = new int[SENDERS];
    for (final int number : numbers) {
      assertEquals(next[number / FRAMES]++, number % FRAMES);
    }
  }

  /** Each third is for the queue, and some are longer than what a pipe takes at once. */
  private void sendAll(int first) {
    for (int i = 0; i < FRAMES; i++) {
      final int number = first + i;
      final byte[] filling = new byte[i % 16 == 0 ? PipeWriter.LONGEST + i : i % 64];
      writer.send(
          i % 3 == 0 ? FrameType.POLICY : FrameType.FOUND,
          out -> {
            out.writeInt(number);
            out.write(filling);
          });
    }
  }

  @Test
  void shouldNotWaitForAProcessThatDoesNotRead() throws Exception {
    final CompletableFuture<List<Integer>> read = read();
    signal("STOP");
    for (int i = 0; i < MANY; i++) {
      final int number = i;
      writer.send(FrameType.RELEASED, out -> out.writeInt(number));
    }
    signal("CONT");
    threadThatWrites(FrameType.POLICY); // behind all others
    writer.close();
    final List<Integer> numbers = read.get(30, TimeUnit.SECONDS);
    assertEquals(MANY + 1, numbers.size());
    for (int i = 0; i < MANY; i++) {
      assertEquals(i, numbers.get(i));
    }
  }

  @Test
  void shouldSayThatNoProcessReads() throws Exception {
    process.destroyForcibly().waitFor();
    writer.send(FrameType.FOUND, out -> out.writeInt(1));
    assertTrue(failed.await(10, TimeUnit.SECONDS));
  }

  /** Sends frame 1 promptly, and does something while it is being written. */
  private void sendAnd(Runnable inTheMiddle) {
    writer.send(
        FrameType.FOUND,
        out -> {
          inTheMiddle.run();
          out.writeInt(1);
        });
  }

  private static void awaitWaiting(Thread thread) {
    while (thread.isAlive() && thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldNotWriteAnotherFrameInTheMiddleOfOne() throws Exception {
    final CompletableFuture<List<Integer>> read = read();
    final Thread own = threadThatWrites(FrameType.POLICY);
    awaitWaiting(own);
    final CountDownLatch isEncoded = new CountDownLatch(1);
    sendAnd(
        () -> {
          writer.send(
              FrameType.POLICY,
              out -> {
                out.writeInt(2);
                isEncoded.countDown();
              });
          awaitUnchecked(isEncoded);
          awaitWaiting(own);
        });
    writer.close();
    assertEquals(List.of(1, 1, 2), read.get(30, TimeUnit.SECONDS));
  }

  @Test
  void shouldNotWriteTheFrameOfAnotherCallerInTheMiddleOfOne() throws Exception {
    final CompletableFuture<List<Integer>> read = read();
    final List<OtherThread<Void>> others = new ArrayList<>();
    sendAnd(
        () -> {
          others.add(
              OtherThread.run(() -> writer.send(FrameType.RELEASED, out -> out.writeInt(2))));
          resultUnchecked(others.getFirst());
        });
    writer.close();
    assertEquals(List.of(1, 2), read.get(30, TimeUnit.SECONDS));
  }

  @Test
  void shouldWriteAFrameThatHasBegunBeforeTheEnd() throws Exception {
    final CompletableFuture<List<Integer>> read = read();
    final Thread own = threadThatWrites(FrameType.POLICY);
    final List<OtherThread<Void>> others = new ArrayList<>();
    awaitWaiting(own);
    sendAnd(
        () -> {
          others.add(OtherThread.run(writer::close));
          while (own.isAlive() && !isEnding(own)) {
            Thread.onSpinWait();
          }
        });
    others.getFirst().result();
    assertEquals(List.of(1, 1), read.get(30, TimeUnit.SECONDS));
    assertEquals(1, failed.getCount());
  }

  /** Returns whether the thread waits for the end of a frame. */
  private static boolean isEnding(Thread thread) {
    return thread.getState() == Thread.State.WAITING
        && LockSupport.getBlocker(thread) instanceof AbstractOwnableSynchronizer;
  }

  private static void resultUnchecked(OtherThread<Void> other) {
    try {
      other.result();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
