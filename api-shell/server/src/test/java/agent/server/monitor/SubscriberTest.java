package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.contract.monitor.MonitorStream;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What one subscriber sends byte by byte, and when it waits. */
@Timeout(20)
class SubscriberTest {
  private static final int ALONE = SubscriberBench.ALONE;
  private static final int MANY = SubscriberBench.MANY;
  private static final int HELLO_BYTES = 65;

  @TempDir private Path directory;
  private final MonitoredDatapath datapath = new MonitoredDatapath();

  private SubscriberBench bench() throws IOException {
    return new SubscriberBench(directory, datapath);
  }

  private SubscriberBench bench(int queueEvents) throws IOException {
    return new SubscriberBench(directory, datapath, queueEvents);
  }

  private static String text(ByteBuffer frame) {
    final byte[] bytes = new byte[frame.get()];
    frame.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Test
  void shouldSayInHelloWhatThereIs() throws Exception {
    datapath.flows = MonitoredDatapath.ring(8);
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS)) {
      final ByteBuffer hello = bench.next(MonitorStream.HELLO);
      assertEquals(1, hello.getShort());
      assertEquals(FlowEventFlyweight.LENGTH, hello.getShort());
      assertEquals(102, hello.getInt());
      final long offsetMs = TimeUnit.NANOSECONDS.toMillis(hello.getLong() + System.nanoTime());
      assertTrue(Math.abs(offsetMs - System.currentTimeMillis()) < 5_000, offsetMs + " ms");
      assertEquals("1.2.3", text(hello));
      assertEquals(2, hello.get());
      assertEquals("first-reason", text(hello));
      assertEquals("second", text(hello));
      assertEquals(1, hello.get());
      assertEquals("in", text(hello));
      assertEquals(SubscriberBench.PACKET_BYTES, hello.getInt());
      assertEquals(8, hello.getInt());
      assertEquals(TranslationEventFlyweight.LENGTH, hello.getShort());
      assertFalse(hello.hasRemaining());
      assertFalse(bench.agent.isHeard(), "it does not ask for what the agent does");
    }
  }

  /** The capacity is a power of two; a message has 8 bytes more than its event. */
  @ParameterizedTest
  @CsvSource({
    "100, 2, 102", // 80 bytes each
    "102, 2, 102",
    "103, 2, 204",
    "13, 2, 25",
    "1, 2, 12", // at least 8
    "9, 2, 12",
    "100, 0x20002, 113", // 144 bytes each
    "100, 0x12, 157", // 104 bytes each
    "100, 0x20012, 113",
    "2147483647, 2, 1677721" // at most 128 MiB
  })
  void shouldSayHowManyEventsFitItsQueue(int wanted, String mask, int events) throws IOException {
    try (SubscriberBench bench = bench(wanted).subscribe(Integer.decode(mask))) {
      assertEquals(events, bench.next(MonitorStream.HELLO).getInt(12));
    }
  }

  @Test
  void shouldTakeASubscriptionInPiecesAndWhateverComesAfterIt() throws Exception {
    try (SubscriberBench bench = bench()) {
      final ByteBuffer frame = SubscriberBench.frame(MonitorStream.SUBSCRIBE, MonitorStream.DROPS);
      bench.thread.start();
      while (frame.hasRemaining()) {
        bench.client.write(frame.slice(frame.position(), 1));
        frame.get();
      }
      bench.next(MonitorStream.HELLO);
      for (int i = 0; i < 3; i++) {
        bench.client.write(ByteBuffer.allocate(1000));
      }
      datapath.emit(EventType.DROP, 7);
      bench.next(MonitorStream.FLOW);
    }
  }

  /** Returns the source's port of an event of a packet. */
  private static int port(ByteBuffer flow) {
    final byte[] bytes = new byte[FlowEventFlyweight.LENGTH];
    flow.get(bytes);
    return new FlowEventFlyweight().wrap(new UnsafeBuffer(bytes), 0).sourcePort();
  }

  /** One that waits takes next to no time of a CPU. */
  private static void assertWaits(SubscriberBench bench, int ms) throws InterruptedException {
    final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    final long beforeNs = threads.getThreadCpuTime(bench.thread.threadId());
    Thread.sleep(ms);
    final long usedNs = threads.getThreadCpuTime(bench.thread.threadId()) - beforeNs;
    assertTrue(usedNs < 50_000_000, usedNs + " ns");
  }

  @Test
  void shouldSendMoreKeptEventsThanASocketTakesAtOnce() throws Exception {
    datapath.keep(MANY);
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS | ALONE)) {
      assertEquals(0, bench.next(MonitorStream.HELLO).getInt(12), "there is no queue");
      assertWaits(bench, 1_600); // it looks once a second
      for (int i = 0; i < MANY; i++) {
        assertEquals(i, port(bench.next(MonitorStream.FLOW)));
      }
      bench.next(MonitorStream.KEPT);
      bench.assertEnds();
      bench.assertLeavesNothing(datapath);
    }
  }

  @Test
  void shouldTellWhatIsLostWhileItSendsWhatIsKept() throws Exception {
    datapath.keep(MANY);
    datapath.lost = 40;
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS | ALONE)) {
      bench.next(MonitorStream.HELLO);
      datapath.lost = 45;
      for (int i = 0; i < MANY; i++) {
        datapath.emit(EventType.DROP, i);
      }
      int received = 0;
      ByteBuffer frame = SubscriberBench.frame(bench.client);
      while (frame.getShort(4) == MonitorStream.FLOW) {
        received++;
        frame = SubscriberBench.frame(bench.client);
      }
      assertEquals(MonitorStream.KEPT, frame.getShort(4));
      frame = bench.next(MonitorStream.LOST);
      assertEquals(5, frame.getLong());
      assertEquals(MANY - received, frame.getLong());
      assertTrue(received > 0 && received < MANY, received + " received");
      bench.assertEnds();
    }
  }

  /** What is overwritten before anything was sent is no longer kept, and not lost. */
  @Test
  void shouldNotTellThatEventsAreLostBeforeItSendsOne() throws Exception {
    datapath.keep(1 << 16);
    final Thread emitter =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  while (!Thread.currentThread().isInterrupted()) {
                    datapath.flows.append(datapath.event);
                  }
                });
    try (SubscriberBench bench = bench().subscribe(MonitorStream.TRACES | ALONE)) {
      bench.next(MonitorStream.HELLO);
      bench.next(MonitorStream.KEPT);
      bench.assertEnds();
    } finally {
      emitter.interrupt();
      emitter.join();
    }
  }

  /** The sixteenth fills the buffer to the last byte, or is too long for it by some. */
  @ParameterizedTest
  @CsvSource({"0, 1", "1, 60", "16, 60"})
  void shouldSendMoreKeptRequestsThanItsBufferHolds(int tooLong, int more) throws Exception {
    try (SubscriberBench bench = bench()) {
      for (int i = 0; i < 15; i++) {
        request(bench, 8192 - 16);
      }
      for (int i = 0; i < more; i++) {
        request(bench, 131_072 - 15 * 8192 - HELLO_BYTES - 16 + tooLong);
      }
      bench.subscribe(MonitorStream.REQUESTS | ALONE);
      assertEquals(HELLO_BYTES, bench.next(MonitorStream.HELLO).capacity());
      for (final AgentEvents.Event request : bench.agent.kept()) {
        final ByteBuffer frame = bench.next(MonitorStream.AGENT);
        assertEquals(request.timeNs(), frame.getLong());
        assertEquals(ByteBuffer.wrap(request.json()), frame);
      }
      bench.next(MonitorStream.KEPT);
      bench.assertEnds();
    }
  }

  private static void request(SubscriberBench bench, int bytes) {
    bench.agent.publishRequest(Map.of("path", "/".repeat(bytes - "{\"path\":\"\"}".length())));
  }

  /** The events leave the buffer 7 bytes, and a loss has 24. */
  @Test
  void shouldTellALossWhereThereIsRoom() throws Exception {
    datapath.onSubscribe =
        subscriber -> {
          for (int i = 0; i < 1631; i++) {
            datapath.emit(EventType.DROP, i);
          }
          for (int i = 0; i < 5; i++) {
            datapath.translate(i);
          }
          ((Subscriber) subscriber).onAgentEvent(new AgentEvents.Event(1, new byte[9000], true));
        };
    try (SubscriberBench bench =
        bench(MANY).subscribe(MonitorStream.DROPS | MonitorStream.TRANSLATIONS)) {
      int bytes = bench.next(MonitorStream.HELLO).capacity();
      for (int i = 0; i < 1631; i++) {
        bytes += bench.next(MonitorStream.FLOW).capacity();
      }
      for (int i = 0; i < 5; i++) {
        bytes += bench.next(MonitorStream.TRANSLATION).capacity();
      }
      assertEquals(131_072 - 7, bytes);
      final ByteBuffer lost = bench.next(MonitorStream.LOST);
      assertEquals(0, lost.getLong());
      assertEquals(1, lost.getLong());
    }
  }

  /** Its queue holds them, its buffer does not. */
  @Test
  void shouldSendMoreThanItsBufferHoldsToAClientThatIsSlow() throws Exception {
    try (SubscriberBench bench = bench(MANY).subscribe(MonitorStream.DROPS)) {
      bench.next(MonitorStream.HELLO);
      for (int i = 0; i < MANY; i++) {
        datapath.emit(EventType.DROP, i);
      }
      assertWaits(bench, 600);
      for (int i = 0; i < MANY; i++) {
        assertEquals(i, port(bench.next(MonitorStream.FLOW)));
      }
      assertWaits(bench, 600);
    }
  }

  /** Counting it reads a map of the kernel. */
  @Test
  void shouldTellWhatTheKernelLostOnceASecond() throws Exception {
    final long startNs = System.nanoTime();
    try (SubscriberBench bench = bench().subscribe(MonitorStream.DROPS)) {
      bench.next(MonitorStream.HELLO);
      datapath.lost = 5;
      datapath.emit(EventType.DROP, 1);
      bench.next(MonitorStream.FLOW);
      assertEquals(5, bench.next(MonitorStream.LOST).getLong());
      assertTrue(System.nanoTime() - startNs >= 1_000_000_000L);
    }
  }
}
