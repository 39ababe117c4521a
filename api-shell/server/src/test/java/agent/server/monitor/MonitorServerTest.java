package agent.server.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.KeptEnd;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Lost;
import agent.client.MonitorEvent.Packet;
import agent.client.MonitorEvent.Place;
import agent.client.MonitorEvent.Translation;
import agent.contract.monitor.MonitorStream;
import agent.datapath.spec.DatapathEvents;
import agent.maps.layout.DropReason;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.TranslationEventFlyweight;
import agent.server.socket.ListeningSocket;
import agent.testkit.HeapAllocation;
import agent.testkit.RecordedLog;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MonitorServerTest {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Duration QUIET = Duration.ofMillis(100);
  private static final int QUEUE = 100;
  private static final int PACKET_BYTES = 64;
  private static final int LONGEST = MonitoredDatapath.LONGEST_PACKET;
  private static final int FLOWS =
      MonitorStream.DROPS | MonitorStream.VERDICTS | MonitorStream.TRACES;

  @TempDir private Path directory;
  private final MonitoredDatapath datapath = new MonitoredDatapath();
  private final AgentEvents agent = new AgentEvents();
  private Path socket;
  private MonitorServer server;

  @BeforeEach
  void start() throws IOException {
    socket = directory.resolve("agent-monitor.sock");
    server = MonitorServer.start(socket, null, QUEUE, PACKET_BYTES, "1.2.3", datapath, agent);
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private MonitorClient open(int mask) throws IOException {
    return MonitorClient.open(socket, mask, LIMIT);
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    final long endNs = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < endNs, "in time");
      Thread.sleep(2);
    }
  }

  /**
   * One that is gone waits for the end of a poll, and may begin to wait after the first of them.
   */
  private void awaitSubscribers(int count) throws InterruptedException {
    await(
        () -> {
          datapath.polls.incrementAndGet();
          return server.subscribers() == count;
        });
  }

  @Test
  void shouldCarryPacketsInOrderWithTheirNames() throws IOException {
    datapath.lost = 40; // before it subscribed
    try (MonitorClient client = open(FLOWS)) {
      assertEquals("1.2.3", client.agentVersion());
      assertTrue(client.queueEvents() >= QUEUE, "" + client.queueEvents());
      assertEquals(DropReason.values().length, client.reasons().size());
      final Instant before = Instant.now();
      for (int i = 1; i <= 50; i++) {
        datapath.emit(EventType.values()[i % 3], i);
      }
      for (int i = 1; i <= 50; i++) {
        final Packet packet = assertInstanceOf(Packet.class, client.next(LIMIT));
        assertEquals(Kind.values()[i % 3], packet.kind());
        assertEquals(i, packet.source().port());
        assertEquals("policy-denied", packet.reason());
        assertEquals("ingress", packet.direction());
        assertEquals(InetAddress.ofLiteral("10.1.0.9"), packet.source().address());
        assertEquals(257, packet.destination().identity());
        assertTrue(Duration.between(before, packet.time()).abs().toMillis() < 5000);
      }
      assertNull(client.next(QUIET), "nothing was lost");
    }
  }

  @Test
  void shouldMakeItsFileAgainWhereItIsRemovedOrReplaced() throws Exception {
    try (RecordedLog log = RecordedLog.of(ListeningSocket.class);
        MonitorClient kept = open(MonitorStream.AGENT_EVENTS)) {
      final int removals = removeUntilItIsBackWithin(2_500);
      try (MonitorClient after = open(MonitorStream.AGENT_EVENTS)) {
        agent.publish(Map.of("kind", "test"));
        assertEquals("{\"kind\":\"test\"}", ((Activity) after.next(LIMIT)).json());
        assertEquals("{\"kind\":\"test\"}", ((Activity) kept.next(LIMIT)).json());
      }
      try (ServerSocketChannel abandoned = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        final Path other = directory.resolve("other");
        abandoned.bind(UnixDomainSocketAddress.of(other));
        Files.move(other, socket, StandardCopyOption.ATOMIC_MOVE);
      }
      await(this::isServed);
      assertTrue(server.fault().isEmpty());
      final String line =
          "WARN event socket " + socket + ": the file was removed or replaced; creating it again";
      assertEquals(Collections.nCopies(removals + 1, line), log.take());
    }
  }

  /** It looks each second, and the machine may be busy. Returns how often the file was removed. */
  private int removeUntilItIsBackWithin(long limitMs) throws Exception {
    long tookMs = Long.MAX_VALUE;
    int removals = 0;
    while (tookMs >= limitMs && removals < 3) {
      Files.delete(socket);
      removals++;
      final long goneNs = System.nanoTime();
      await(() -> Files.exists(socket));
      tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - goneNs);
    }
    assertTrue(tookMs < limitMs, "took " + tookMs + " ms");
    return removals;
  }

  private boolean isServed() {
    try (MonitorClient client = open(MonitorStream.AGENT_EVENTS)) {
      return client.agentVersion().equals("1.2.3");
    } catch (IOException notYet) {
      return false;
    }
  }

  @Test
  void shouldTellThatAnotherFileIsInThePlaceOfItsSocketAndLeaveIt() throws Exception {
    Files.delete(socket);
    Files.writeString(socket, "precious");
    await(() -> server.fault().isPresent());
    final String fault = server.fault().orElseThrow();
    assertTrue(fault.endsWith("the file exists and is not a socket"), fault);
    server.close();
    assertEquals("precious", Files.readString(socket));
  }

  @Test
  void shouldSendEachSubscriberWhatItAskedFor() throws Exception {
    try (MonitorClient drops = open(MonitorStream.DROPS);
        MonitorClient own = open(MonitorStream.AGENT_EVENTS)) {
      assertEquals(1, datapath.subscribers.size(), "events of packets are emitted for one");
      datapath.emit(EventType.TRACE, 1);
      datapath.emit(EventType.DROP, 2);
      agent.publish(Map.of("kind", "test"));
      assertEquals(2, ((Packet) drops.next(LIMIT)).source().port());
      assertNull(drops.next(QUIET));
      assertEquals("{\"kind\":\"test\"}", ((Activity) own.next(LIMIT)).json());
      assertNull(own.next(QUIET));
    }
    await(() -> datapath.subscribers.isEmpty() && !agent.isHeard());
    awaitSubscribers(0);
  }

  /** A client of a former release does not ask for them, and gets none. */
  @Test
  void shouldCarryTranslationsToWhoAsksForThem() throws IOException {
    try (MonitorClient packets = open(FLOWS);
        MonitorClient translations = open(MonitorStream.TRANSLATIONS)) {
      assertTrue(packets.tellsTranslations());
      assertEquals(
          List.of("true false", "false true"),
          datapath.subscribers.stream()
              .map(one -> one.hearsPackets() + " " + one.hearsTranslations())
              .toList());
      datapath.translate(41);
      datapath.emit(EventType.DROP, 42);
      datapath.translate(43);
      assertEquals(42, ((Packet) packets.next(LIMIT)).source().port());
      assertNull(packets.next(QUIET));
      final Translation first = (Translation) translations.next(LIMIT);
      assertEquals(Place.NETWORK, first.place());
      assertEquals(9, first.service());
      assertEquals(17, first.protocol());
      assertEquals(41, first.source().port());
      assertEquals(43, ((Translation) translations.next(LIMIT)).source().port());
      assertNull(translations.next(QUIET));
    }
  }

  private static byte[] bytes(int count) {
    final byte[] bytes = new byte[count];
    for (int i = 0; i < count; i++) {
      bytes[i] = (byte) (i * 31 + 7);
    }
    return bytes;
  }

  @Test
  void shouldCarryTheFirstBytesOfPacketsToWhoAsksForThem() throws IOException {
    try (MonitorClient plain = open(FLOWS);
        MonitorClient capturing = open(FLOWS | MonitorStream.PACKET_BYTES)) {
      assertEquals(
          List.of(false, true),
          datapath.subscribers.stream()
              .map(DatapathEvents.FlowSubscriber::capturesPackets)
              .toList());
      assertEquals(PACKET_BYTES, capturing.packetBytes());
      for (final int length : new int[] {PACKET_BYTES, 0, 3}) {
        datapath.emit(EventType.DROP, 1, bytes(length));
        final Packet packet = (Packet) capturing.next(LIMIT);
        assertEquals(ByteBuffer.wrap(bytes(length)), packet.bytes());
        assertEquals(60, packet.length());
        assertEquals(0, ((Packet) plain.next(LIMIT)).bytes().remaining());
      }
    }
  }

  @Test
  void shouldCarryTheLongestPackets() throws IOException {
    server.close();
    server = MonitorServer.start(socket, null, 1, LONGEST, "1.2.3", datapath, agent);
    try (MonitorClient client = open(FLOWS | MonitorStream.PACKET_BYTES)) {
      for (int i = 0; i < 10; i++) {
        datapath.emit(EventType.DROP, i, bytes(LONGEST));
        assertEquals(ByteBuffer.wrap(bytes(LONGEST)), ((Packet) client.next(LIMIT)).bytes());
      }
      assertNull(client.next(QUIET), "nothing was lost");
    }
  }

  /** It says how many events fit: fewer than the option says, since each takes more room. */
  @Test
  void shouldBoundTheMemoryOfAQueueOfPackets() throws IOException {
    server.close();
    server = MonitorServer.start(socket, null, 1 << 20, LONGEST, "1.2.3", datapath, agent);
    try (MonitorClient client = open(FLOWS | MonitorStream.PACKET_BYTES)) {
      final long bytes = (long) client.queueEvents() * LONGEST;
      assertTrue(bytes > 100 << 20 && bytes <= 128 << 20, bytes + " bytes");
    }
    try (MonitorClient client = open(FLOWS)) {
      assertTrue(client.queueEvents() >= 1 << 20, client.queueEvents() + " events without bytes");
    }
    try (MonitorClient client = open(FLOWS | MonitorStream.TRANSLATIONS)) {
      final long bytes = (long) client.queueEvents() * MonitorStream.TRANSLATION_BYTES;
      assertTrue(bytes > 96 << 20 && bytes <= 128 << 20, bytes + " bytes of translations");
    }
  }

  /** A client of 0.5.0 finds each frame as that release documented it. */
  @Test
  void shouldSendTheFramesOfBeforeToWhoAsksForNoBytes() throws IOException {
    try (SocketChannel old = SocketChannel.open(StandardProtocolFamily.UNIX);
        MonitorClient capturing = open(FLOWS | MonitorStream.PACKET_BYTES)) {
      old.connect(UnixDomainSocketAddress.of(socket));
      final ByteBuffer subscribe = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN);
      old.write(subscribe.putInt(12).putInt(16).putInt(MonitorStream.DROPS).flip());
      final ByteBuffer hello = SubscriberBench.frame(old);
      assertEquals(1, hello.getShort(4), "HELLO");
      assertEquals(1, hello.getShort(8), "version");
      assertEquals(72, hello.getShort(10));
      datapath.emit(EventType.DROP, 1, bytes(40));
      assertEquals(40, ((Packet) capturing.next(LIMIT)).bytes().remaining());
      final ByteBuffer flow = SubscriberBench.frame(old);
      assertEquals(2, flow.getShort(4), "FLOW");
      assertEquals(8 + 72, flow.capacity());
      assertEquals(0, flow.get(8 + 37) | flow.get(8 + 38) | flow.get(8 + 39), "reserved");
    }
  }

  private static int port(MonitorEvent event) {
    return assertInstanceOf(Packet.class, event).source().port();
  }

  @Test
  void shouldSendWhatIsKeptBeforeWhatIsLive() throws IOException {
    datapath.flows = MonitoredDatapath.ring(4);
    for (int i = 1; i <= 6; i++) {
      datapath.emit(EventType.DROP, i);
    }
    try (MonitorClient client = open(FLOWS | MonitorStream.KEPT_FIRST);
        MonitorClient other = open(FLOWS)) {
      assertEquals(4, client.keptEvents());
      datapath.emit(EventType.TRACE, 7);
      for (int i = 3; i <= 6; i++) {
        assertEquals(i, port(client.next(LIMIT)));
      }
      assertEquals(new KeptEnd(), client.next(LIMIT));
      datapath.emit(EventType.TRACE, 8);
      assertEquals(7, port(client.next(LIMIT)));
      assertEquals(8, port(client.next(LIMIT)));
      assertNull(client.next(QUIET), "none comes twice, and none is lost");
      assertEquals(7, port(other.next(LIMIT)), "who does not ask for them gets live ones alone");
    }
  }

  @Test
  void shouldEndTheStreamAfterWhatIsKeptWhereThatAloneIsWanted() throws IOException {
    datapath.flows = MonitoredDatapath.ring(8);
    datapath.emit(EventType.DROP, 1);
    datapath.emit(EventType.TRACE, 2);
    datapath.emit(EventType.DROP, 3);
    datapath.emitting = CompletableFuture.failedFuture(new IllegalStateException("not asked for"));
    final int mask = MonitorStream.DROPS | MonitorStream.KEPT_FIRST | MonitorStream.KEPT_ALONE;
    try (MonitorClient client = open(mask)) {
      assertEquals(1, port(client.next(LIMIT)));
      assertEquals(3, port(client.next(LIMIT)), "drops alone were wanted");
      assertEquals(new KeptEnd(), client.next(LIMIT));
      assertThrows(EOFException.class, () -> client.next(LIMIT));
    }
    assertEquals(List.of(), datapath.subscribers, "the programs emit nothing for it");
  }

  @Test
  void shouldKeepNothingWhereTheRingIsOff() throws IOException {
    datapath.emit(EventType.DROP, 1);
    try (MonitorClient client = open(FLOWS | MonitorStream.KEPT_FIRST)) {
      assertEquals(0, client.keptEvents());
      assertEquals(new KeptEnd(), client.next(LIMIT));
      datapath.emit(EventType.DROP, 2);
      assertEquals(2, port(client.next(LIMIT)));
    }
  }

  /** Events come all the time, so that some come while a client subscribes. */
  @Test
  void shouldLeaveNoEventOutAndSendNoneTwiceBetweenKeptAndLiveOnes() throws Exception {
    server.close();
    server = MonitorServer.start(socket, null, 1 << 16, PACKET_BYTES, "1.2.3", datapath, agent);
    datapath.flows = MonitoredDatapath.ring(1 << 14); // more than a second of events
    final Thread emitter =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  for (int i = 0; !Thread.currentThread().isInterrupted(); i++) {
                    datapath.emit(EventType.DROP, i & 0xffff);
                    LockSupport.parkNanos(20_000);
                  }
                });
    int losses = 0; // of kept events, where the thread that sends them has no CPU
    for (int round = 0; round < 100; round++) {
      losses += missingEvents() > 0 ? 1 : 0;
    }
    assertTrue(losses < 10, "in " + losses + " rounds");
    emitter.interrupt();
    assertTrue(emitter.join(Duration.ofSeconds(60)));
  }

  /** Returns how many events are missing, which are reported as lost. */
  private long missingEvents() throws IOException {
    try (MonitorClient client = open(FLOWS | MonitorStream.KEPT_FIRST)) {
      int last = -1;
      int live = -1;
      long missing = 0;
      long reported = 0;
      while (live < 50 || reported < missing && live < 10_000) {
        final MonitorEvent event = client.next(LIMIT);
        if (event instanceof KeptEnd) {
          live = 0;
        } else if (event instanceof Lost lost) {
          reported = lost.byQueue();
        } else {
          final int port = port(event);
          final int between = last < 0 ? 0 : port - last - 1 & 0xffff;
          assertTrue(between == 0 || live < 0, port + " after " + live + " live ones");
          missing += between;
          last = port;
          live += live < 0 ? 0 : 1;
        }
      }
      assertEquals(reported, missing);
      return missing;
    }
  }

  /** The client does not read; what the ring had for it is overwritten meanwhile. */
  @Test
  void shouldCountKeptEventsThatAreOverwrittenBeforeTheyAreSent() throws IOException {
    final int kept = 1 << 16;
    datapath.flows = MonitoredDatapath.ring(kept);
    for (int i = 0; i < kept; i++) {
      datapath.emit(EventType.DROP, 1);
    }
    try (MonitorClient client = open(FLOWS | MonitorStream.KEPT_FIRST)) {
      for (int i = 0; i < kept; i++) {
        datapath.emit(EventType.DROP, 2);
      }
      long old = 0;
      long received = 0;
      long lost = 0;
      boolean hasEnded = false;
      while (received + lost < 2 * kept || !hasEnded) {
        switch (client.next(LIMIT)) {
          case Packet packet -> {
            received++;
            old += packet.source().port() == 1 ? 1 : 0;
          }
          case Lost total -> lost = total.byQueue();
          case KeptEnd _ -> hasEnded = true;
          default -> throw new AssertionError("unexpected");
        }
      }
      assertEquals(2 * kept, received + lost);
      assertTrue(old < kept, "some were overwritten");
    }
  }

  @Test
  void shouldCarryAPacketThroughTheSmallestQueue() throws IOException {
    server.close();
    server = MonitorServer.start(socket, null, 1, PACKET_BYTES, "1.2.3", datapath, agent);
    try (MonitorClient client = open(FLOWS)) {
      datapath.emit(EventType.DROP, 7);
      assertEquals(7, ((Packet) client.next(LIMIT)).source().port());
    }
  }

  private void assertLongest(int bytes) throws IOException {
    final int rest = "{\"kind\":\"\"}".length();
    try (MonitorClient own = open(MonitorStream.AGENT_EVENTS)) {
      final Instant before = Instant.now();
      agent.publish(Map.of("kind", "x".repeat(bytes - rest)));
      final Activity longest = assertInstanceOf(Activity.class, own.next(LIMIT));
      assertEquals(bytes, longest.json().length());
      assertTrue(Duration.between(before, longest.time()).abs().toMillis() < 5000);
      agent.publish(Map.of("kind", "x".repeat(bytes - rest + 1)));
      assertEquals(new Lost(0, 1), own.next(LIMIT));
      agent.publish(Map.of("kind", "next"));
      assertEquals("{\"kind\":\"next\"}", ((Activity) own.next(LIMIT)).json());
    }
  }

  /** A longer one is lost, which is reported; an eighth of a small queue may be less. */
  @Test
  void shouldTakeAnEventOfTheAgentOfEightKibibytesOrAnEighthOfTheQueue() throws IOException {
    assertLongest(1024 - 8);
    server.close();
    server = MonitorServer.start(socket, null, 10 * QUEUE, PACKET_BYTES, "1.2.3", datapath, agent);
    assertLongest(8 * 1024);
  }

  /** A subscriber that waits is woken: it looks by itself only once a second. */
  @Test
  void shouldSendAnEventOfTheAgentAtOnce() throws Exception {
    long shortestNs = Long.MAX_VALUE;
    try (MonitorClient own = open(MonitorStream.AGENT_EVENTS)) {
      for (int i = 0; i < 10; i++) {
        Thread.sleep(QUIET);
        final long startNs = System.nanoTime();
        agent.publish(Map.of("kind", "test"));
        assertInstanceOf(Activity.class, own.next(LIMIT));
        shortestNs = Math.min(shortestNs, System.nanoTime() - startNs);
      }
    }
    assertTrue(shortestNs < 50_000_000, shortestNs + " ns");
  }

  /** The one that does not read loses events of its own, and learns how many. */
  @Test
  void shouldLetASlowSubscriberLoseItsOwnEventsOnly() throws Exception {
    final int sent = 20_000;
    try (MonitorClient slow = open(MonitorStream.DROPS);
        MonitorClient quick = open(MonitorStream.DROPS)) {
      for (int i = 0; i < sent; i++) {
        datapath.emit(EventType.DROP, i);
        assertEquals(i, ((Packet) quick.next(LIMIT)).source().port());
      }
      assertNull(quick.next(QUIET));
      assertLosesSome(slow, Packet.class, sent);
    }
  }

  @Test
  void shouldTellASlowSubscriberHowManyTranslationsItLost() throws Exception {
    final int sent = 20_000;
    try (MonitorClient slow = open(MonitorStream.TRANSLATIONS);
        MonitorClient quick = open(MonitorStream.TRANSLATIONS)) {
      for (int i = 0; i < sent; i++) {
        datapath.translate(i);
        assertEquals(i, ((Translation) quick.next(LIMIT)).source().port());
      }
      assertNull(quick.next(QUIET));
      assertLosesSome(slow, Translation.class, sent);
    }
  }

  private static void assertLosesSome(
      MonitorClient slow, Class<? extends MonitorEvent> type, long sent) throws IOException {
    long received = 0;
    long lost = 0;
    while (received + lost < sent) {
      final MonitorEvent event = slow.next(LIMIT);
      if (event instanceof Lost total) {
        assertEquals(0, total.byRing());
        lost = total.byQueue();
      } else {
        assertInstanceOf(type, event);
        received++;
      }
    }
    assertEquals(sent, received + lost);
    assertTrue(lost > 0 && received >= QUEUE, received + " received, " + lost + " lost");
  }

  @Test
  void shouldTellWhatTheKernelLost() throws IOException {
    datapath.lost = 40;
    try (MonitorClient client = open(MonitorStream.DROPS)) {
      datapath.lost = 45;
      assertEquals(new Lost(5, 0), client.next(LIMIT));
    }
  }

  /** An event that is on its way still finds the queue of a subscriber that is gone. */
  @Test
  void shouldKeepTheQueueUntilTheNextPollHasEnded() throws Exception {
    final MonitorClient client = open(MonitorStream.DROPS);
    final DatapathEvents.FlowSubscriber late = datapath.subscribers.getFirst();
    client.close();
    await(datapath.subscribers::isEmpty);
    Thread.sleep(QUIET);
    for (int i = 0; i < 10_000; i++) {
      late.onEvent(datapath.event.type(EventType.DROP.number()));
    }
    assertEquals(1, server.subscribers());
    datapath.emit(EventType.DROP, 1); // ends a poll
    await(() -> server.subscribers() == 0);
  }

  /** HELLO says that events are emitted. */
  @Test
  void shouldNotAnswerBeforeTheProgramsEmitEvents() throws Exception {
    datapath.emitting = new CompletableFuture<>();
    final CompletableFuture<MonitorClient> client =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return open(MonitorStream.DROPS);
              } catch (IOException failure) {
                throw new IllegalStateException(failure);
              }
            });
    await(() -> !datapath.subscribers.isEmpty());
    Thread.sleep(QUIET);
    assertFalse(client.isDone());
    datapath.emitting.complete(null);
    client.join().close();
  }

  @Test
  void shouldEndTheStreamWhereTheProgramsCannotEmit() {
    datapath.emitting = CompletableFuture.failedFuture(new IllegalStateException("no memory"));
    assertThrows(EOFException.class, () -> open(MonitorStream.DROPS));
    assertEquals(List.of(), datapath.subscribers);
  }

  @Test
  void shouldRefuseOneMoreThanThirtyTwo() throws Exception {
    final List<MonitorClient> clients = new ArrayList<>();
    for (int i = 0; i < 32; i++) {
      clients.add(open(MonitorStream.DROPS));
    }
    final IOException refused = assertThrows(IOException.class, () -> open(MonitorStream.DROPS));
    assertFalse(refused.getMessage().contains("did not answer"), refused.getMessage());
    clients.removeFirst().close();
    await(() -> datapath.subscribers.size() == 31);
    awaitSubscribers(31);
    clients.add(open(MonitorStream.DROPS));
    for (final MonitorClient client : clients) {
      client.close();
    }
  }

  @Test
  void shouldEndAConnectionThatSubscribesToNothing() throws IOException {
    for (final String bytes : List.of("GET / HTTP/1.1\r\n\r\n", "\0\0\0\0\0\0\0\0\0\0\0\0")) {
      try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        channel.connect(UnixDomainSocketAddress.of(socket));
        channel.write(ByteBuffer.wrap(bytes.getBytes()));
        assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
      } catch (IOException reset) {
        assertTrue(reset.getMessage().contains("reset"), reset.getMessage());
      }
    }
    try (SocketChannel silent = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.connect(UnixDomainSocketAddress.of(socket));
      final long startNs = System.nanoTime();
      assertEquals(-1, silent.read(ByteBuffer.allocate(1)));
      final long seconds = Duration.ofNanos(System.nanoTime() - startNs).toSeconds();
      assertTrue(seconds >= 4 && seconds < 20, seconds + " s");
    }
  }

  @Test
  void shouldListenOnASocketOfTheGroupAndRemoveIt() throws IOException {
    assertEquals("rw-rw----", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
    try (MonitorClient client = open(MonitorStream.DROPS)) {
      server.close();
      assertThrows(EOFException.class, () -> client.next(LIMIT));
    }
    assertFalse(Files.exists(socket));
    assertEquals(0, server.subscribers());
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("monitor-"))
        .sorted()
        .toList();
  }

  @Test
  void shouldEndItsThreadsBeforeItIsClosed() throws IOException {
    try (MonitorClient _ = open(MonitorStream.DROPS)) {
      assertEquals(
          List.of("monitor-" + ProcessHandle.current().pid(), "monitor-accept"), threads());
      server.close();
      assertEquals(List.of(), threads());
    }
  }

  /** It does not wait on for a subscriber whose programs do not emit events yet. */
  @Test
  void shouldStayInterruptedWhereItIsClosed() throws Exception {
    datapath.emitting = new CompletableFuture<>();
    try (SocketChannel waiting = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      waiting.connect(UnixDomainSocketAddress.of(socket));
      waiting.write(SubscriberBench.frame(MonitorStream.SUBSCRIBE, MonitorStream.DROPS));
      await(() -> !datapath.subscribers.isEmpty());
      Thread.currentThread().interrupt();
      server.close();
      assertTrue(Thread.interrupted());
    } finally {
      datapath.emitting.complete(null);
    }
  }

  /** While the client reads, and while it does not. */
  @Test
  void shouldFillQueuesWithoutAllocation() throws Exception {
    try (MonitorClient reading = open(MonitorStream.DROPS | MonitorStream.TRANSLATIONS);
        MonitorClient _ = open(MonitorStream.DROPS | MonitorStream.PACKET_BYTES)) {
      final Thread reader =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      while (reading.next(LIMIT) != null) {
                        // reads on
                      }
                    } catch (IOException ended) {
                      // the test is over
                    }
                  });
      final FlowEventFlyweight event = datapath.event;
      final TranslationEventFlyweight translation = datapath.translation;
      datapath.emit(EventType.DROP, 1, bytes(PACKET_BYTES));
      datapath.translate(1);
      final DatapathEvents.FlowSubscriber[] both =
          datapath.subscribers.toArray(DatapathEvents.FlowSubscriber[]::new);
      assertEquals(2, both.length);
      assertEquals(
          0,
          HeapAllocation.steady(
              100_000,
              () -> {
                both[0].onEvent(event);
                both[0].onTranslation(translation);
                both[1].onEvent(event);
              }));
      assertTrue(reader.isAlive());
    }
  }
}
