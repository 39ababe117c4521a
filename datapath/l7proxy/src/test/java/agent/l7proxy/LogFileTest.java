package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which lines are in the file, which are counted, and which files stay open. */
@Timeout(20)
class LogFileTest {
  private static final int QUEUE_LENGTH = 8192;
  private static final int BUFFER_BYTES = 64 * 1024;

  /** The writer waits in it for {@link #goesOn}. */
  private static final String WAIT = "wait\n";

  @TempDir Path folder;
  private final AtomicLong nowNs = new AtomicLong(-5);
  private final CountDownLatch isWaiting = new CountDownLatch(1);
  private final CountDownLatch goesOn = new CountDownLatch(1);

  private LogFile<String> open(Path file, Function<String, String> text) throws IOException {
    return LogFile.open("test log", file, text, nowNs::get);
  }

  private LogFile<String> open(Path file) throws IOException {
    return open(file, this::text);
  }

  private String text(String line) {
    if (line.equals(WAIT)) {
      isWaiting.countDown();
      try {
        goesOn.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    return line;
  }

  /** Returns how many descriptors of this process are of a file. */
  private static long descriptors(Path file) throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.filter(descriptor -> isOf(descriptor, file)).count();
    }
  }

  private static boolean isOf(Path descriptor, Path file) {
    try {
      return Files.readSymbolicLink(descriptor).equals(file);
    } catch (IOException e) {
      return false; // closed meanwhile
    }
  }

  private static void awaitContent(Path file) throws IOException {
    while (!Files.exists(file) || Files.size(file) == 0) {
      Thread.onSpinWait();
    }
  }

  private static void awaitDropped(LogFile<String> log, long count) {
    while (log.dropped() != count) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldWriteLinesWholeThatDoNotFitTogether() throws IOException, InterruptedException {
    final Path file = folder.resolve("log");
    final String half = "h".repeat(BUFFER_BYTES / 2) + "\n";
    final LogFile<String> log = open(file);
    log.write(WAIT);
    isWaiting.await();
    for (int i = 0; i < 5; i++) {
      log.write(half);
    }
    goesOn.countDown();
    log.close();
    assertEquals(0, log.dropped());
    assertEquals(WAIT + half.repeat(5), Files.readString(file));
  }

  @Test
  void shouldCountALineThatIsLongerThanItsBuffer() throws IOException {
    final Path file = folder.resolve("log");
    final String longest = "x".repeat(BUFFER_BYTES);
    final LogFile<String> log = open(file);
    log.write(longest + "y");
    log.write(longest);
    log.write("z");
    log.close();
    assertEquals(1, log.dropped());
    assertEquals(longest + "z", Files.readString(file));
  }

  @Test
  void shouldCountWhatTheQueueDoesNotTakeAndWhatComesAfterTheEnd() throws Exception {
    final Path file = folder.resolve("log");
    final LogFile<String> log = open(file);
    log.write(WAIT);
    isWaiting.await();
    for (int i = 0; i < QUEUE_LENGTH + 2; i++) {
      log.write("a");
    }
    assertEquals(2, log.dropped());
    goesOn.countDown();
    log.close();
    log.write("b");
    assertEquals(3, log.dropped());
    assertEquals(WAIT + "a".repeat(QUEUE_LENGTH), Files.readString(file));
  }

  @Test
  void shouldGoOnAfterALineThatHasNoText() throws IOException {
    final Path file = folder.resolve("log");
    final LogFile<String> log =
        open(
            file,
            line -> {
              if (line.isEmpty()) {
                throw new IllegalArgumentException("planned");
              }
              return line;
            });
    log.write("");
    log.write("next\n");
    log.close();
    assertEquals(1, log.dropped());
    assertEquals("next\n", Files.readString(file));
  }

  @Test
  void shouldWriteWhatCameBeforeAReopenToTheOldFile() throws Exception {
    final Path file = folder.resolve("log");
    final Path old = folder.resolve("log.1");
    final LogFile<String> log = open(file);
    log.write(WAIT);
    isWaiting.await();
    log.write("new\n");
    Files.move(file, old);
    log.reopen();
    goesOn.countDown();
    log.close();
    assertEquals(WAIT, Files.readString(old));
    assertEquals("new\n", Files.readString(file));
    assertEquals(0, descriptors(old));
    assertEquals(0, descriptors(file));
  }

  @Test
  void shouldWriteAtOnceWhereNoLineWaits() throws IOException {
    final Path file = folder.resolve("log");
    try (LogFile<String> log = open(file)) {
      assertEquals(1, descriptors(file));
      log.write("a");
      awaitContent(file);
    }
  }

  @Test
  void shouldTryAFileThatFailsOnceASecond() throws IOException {
    final Path file = Files.createDirectory(folder.resolve("sub")).resolve("log");
    try (LogFile<String> log = open(file)) {
      Files.delete(file);
      Files.delete(file.getParent());
      log.reopen();
      log.write("1");
      awaitDropped(log, 1);
      Files.createDirectory(file.getParent());
      log.write("2");
      awaitDropped(log, 2);
      nowNs.addAndGet(TimeUnit.SECONDS.toNanos(1) - 1);
      log.write("3");
      awaitDropped(log, 3);
      assertFalse(Files.exists(file));
      nowNs.addAndGet(1);
      log.write("4");
      awaitContent(file);
      assertEquals("4", Files.readString(file));
      assertEquals(3, log.dropped());
      log.reopen();
      Files.delete(file);
      log.write("5");
      awaitContent(file);
    }
  }

  @Test
  void shouldCloseAFileThatFails() throws IOException {
    final Path full = Path.of("/dev/full");
    try (LogFile<String> log = open(full)) {
      assertEquals(1, descriptors(full));
      log.write("a");
      awaitDropped(log, 1);
      while (descriptors(full) != 0) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void shouldNotOpenWhatIsNoFile() {
    assertThrows(IOException.class, () -> open(folder));
  }

  @Test
  void shouldKeepTheInterruptOfWhoClosesIt() throws IOException {
    final LogFile<String> log = open(folder.resolve("log"));
    Thread.currentThread().interrupt();
    log.close();
    assertTrue(Thread.interrupted());
  }
}
