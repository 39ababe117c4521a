package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.monitor.MonitorStream;
import agent.maps.layout.EventType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When one subscriber ends, and what it leaves. */
@Timeout(20)
class SubscriberEndTest {
  private static final int ALONE = SubscriberBench.ALONE;
  private static final int MANY = SubscriberBench.MANY;
  @TempDir private Path directory;
  private final MonitoredDatapath datapath = new MonitoredDatapath();

  private SubscriberBench bench() throws IOException {
    return new SubscriberBench(directory, datapath);
  }

  private SubscriberBench bench(int queueEvents) throws IOException {
    return new SubscriberBench(directory, datapath, queueEvents);
  }

  @ParameterizedTest
  @CsvSource({"13, 16, 2", "11, 16, 2", "12, 1, 2", "12, 16, 0"})
  void shouldEndWhereTheFirstFrameIsNoSubscription(int length, int type, int mask)
      throws Exception {
    try (SubscriberBench bench = bench()) {
      final ByteBuffer frame = SubscriberBench.frame(type, mask);
      bench.client.write(frame.putInt(0, length));
      bench.thread.start();
      bench.assertEnds();
      bench.assertLeavesNothing(datapath);
    }
  }

  @Test
  void shouldEndWhereTheClientClosesWithinItsSubscription() throws Exception {
    try (SubscriberBench bench = bench()) {
      bench.client.write(ByteBuffer.allocate(5));
      bench.client.shutdownOutput();
      bench.thread.start();
      bench.assertEnds();
      bench.assertLeavesNothing(datapath);
    }
  }

  /** It waits five seconds for it else. */
  @Test
  void shouldEndAtOnceWhereItIsStoppedBeforeTheSubscription() throws Exception {
    try (SubscriberBench bench = bench()) {
      final long startNs = System.nanoTime();
      bench.thread.start();
      bench.subscriber.stop();
      bench.assertEnds();
      assertTrue(System.nanoTime() - startNs < 4_000_000_000L);
    }
  }

  private SubscriberBench blocked() throws Exception {
    final SubscriberBench bench = bench(MANY).subscribe(MonitorStream.DROPS);
    bench.next(MonitorStream.HELLO);
    for (int i = 0; i < MANY; i++) {
      datapath.emit(EventType.DROP, i);
    }
    return bench;
  }

  @Test
  void shouldEndWhereItIsStoppedAndItsClientDoesNotRead() throws Exception {
    try (SubscriberBench bench = blocked()) {
      bench.subscriber.stop();
      assertTrue(bench.thread.join(SubscriberBench.LIMIT));
      assertTrue(bench.hasMemory(), "the process ends");
    }
  }

  @Test
  void shouldEndWhereItIsStoppedAndItsClientReadsNothingThatIsKept() throws Exception {
    datapath.keep(MANY);
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS | ALONE)) {
      bench.next(MonitorStream.HELLO);
      bench.subscriber.stop();
      assertTrue(bench.thread.join(SubscriberBench.LIMIT));
    }
  }

  /** Also while it does not read. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldEndWhereTheClientEndsItsSide(boolean isBlocked) throws Exception {
    try (SubscriberBench bench =
        isBlocked
            ? blocked()
            : bench().subscribe(MonitorStream.DROPS | MonitorStream.AGENT_EVENTS)) {
      if (!isBlocked) {
        bench.next(MonitorStream.HELLO);
        assertTrue(bench.agent.isHeard());
      }
      bench.client.shutdownOutput();
      awaitState(bench, Thread.State.TIMED_WAITING);
      assertEquals(0, datapath.subscribers.size());
      assertTrue(bench.hasMemory(), "an event may be on its way into it");
      datapath.polls.incrementAndGet();
      bench.assertLeavesNothing(datapath);
    }
  }

  private static void awaitState(SubscriberBench bench, Thread.State state)
      throws InterruptedException {
    final long endNs = System.nanoTime() + SubscriberBench.LIMIT.toNanos();
    while (bench.thread.getState() != state) {
      assertTrue(System.nanoTime() < endNs, "in time");
      Thread.sleep(1);
    }
  }

  @Test
  void shouldKeepTheMemoryOfTheQueueWhereNoPollEndsForFiveSeconds() throws Exception {
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS)) {
      bench.next(MonitorStream.HELLO);
      final long startNs = System.nanoTime();
      bench.client.shutdownOutput();
      bench.assertEnds();
      assertTrue(bench.thread.join(SubscriberBench.LIMIT));
      assertTrue(System.nanoTime() - startNs > 4_000_000_000L);
      assertTrue(bench.hasMemory());
    }
  }

  @Test
  void shouldKeepTheMemoryOfTheQueueWhereItIsInterrupted() throws Exception {
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS)) {
      bench.next(MonitorStream.HELLO);
      bench.client.shutdownOutput();
      awaitState(bench, Thread.State.TIMED_WAITING);
      bench.thread.interrupt();
      assertTrue(bench.thread.join(SubscriberBench.LIMIT));
      assertTrue(bench.isInterrupted);
      assertTrue(bench.hasMemory());
    }
  }

  /** The files of this process that wait for others. */
  private static long selectors() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.filter(SubscriberEndTest::isSelector).count();
    }
  }

  private static boolean isSelector(Path file) {
    try {
      return Files.readSymbolicLink(file).toString().contains("[eventpoll]");
    } catch (IOException closed) {
      return false;
    }
  }

  @Test
  void shouldCloseItsSelector() throws Exception {
    final long before = selectors();
    try (SubscriberBench bench = bench()) {
      assertEquals(before + 1, selectors());
      bench.subscribe(MonitorStream.DROPS | ALONE);
      bench.next(MonitorStream.HELLO);
      bench.next(MonitorStream.KEPT);
      bench.assertEnds();
      bench.assertLeavesNothing(datapath);
      assertEquals(before, selectors());
    }
  }
}
