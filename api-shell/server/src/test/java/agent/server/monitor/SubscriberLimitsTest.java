package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.monitor.MonitorStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a subscriber waits for, and for how long: both ends of each limit. */
class SubscriberLimitsTest {
  private static final Duration EARLIEST = Duration.ofMillis(4_900);
  private static final Duration LATEST = Duration.ofMillis(9_000);

  @TempDir private Path directory;
  private final MonitoredDatapath datapath = new MonitoredDatapath();

  private SubscriberBench bench(String folder) throws IOException {
    return new SubscriberBench(Files.createDirectory(directory.resolve(folder)), datapath);
  }

  private static Duration since(long beganNs) {
    return Duration.ofNanos(System.nanoTime() - beganNs);
  }

  /** Waits for the end of a subscriber, which comes after 5 seconds. */
  private static void assertEndsAtItsLimit(SubscriberBench bench, long beganNs) throws Exception {
    assertTrue(bench.thread.join(LATEST.minus(since(beganNs))), "it ends");
    final Duration took = since(beganNs);
    assertTrue(took.compareTo(EARLIEST) > 0, took.toString());
  }

  /** Two clients at once: each waits for 5 seconds. */
  @Test
  void shouldWaitFiveSecondsForASubscriptionAndForThePollAfterTheLastEvent() throws Exception {
    try (SubscriberBench silent = bench("silent");
        SubscriberBench gone = bench("gone")) {
      final long beganNs = System.nanoTime();
      silent.thread.start();
      gone.subscribe(MonitorStream.DROPS).next(MonitorStream.HELLO);
      gone.client.close();
      assertEndsAtItsLimit(silent, beganNs);
      assertEndsAtItsLimit(gone, beganNs);
      assertTrue(gone.hasMemory(), "the datapath may still write to the queue");
      silent.assertLeavesNothing(datapath);
    }
  }

  @Test
  void shouldTellWhatTheKernelHasLostWithinASecond() throws Exception {
    try (SubscriberBench bench = bench("one").subscribe(MonitorStream.DROPS)) {
      bench.next(MonitorStream.HELLO);
      long shortestMs = Long.MAX_VALUE; // the machine may be busy
      for (int lost = 5; lost <= 15 && shortestMs >= 2_500; lost += 5) {
        final long beganNs = System.nanoTime();
        datapath.lost = lost;
        assertEquals(lost, bench.next(MonitorStream.LOST).getLong());
        shortestMs = Math.min(shortestMs, since(beganNs).toMillis());
      }
      assertTrue(shortestMs < 2_500, shortestMs + " ms");
      datapath.polls.incrementAndGet();
    }
  }
}
