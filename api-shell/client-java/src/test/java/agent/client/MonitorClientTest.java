package agent.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.KeptEnd;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Lost;
import agent.client.MonitorEvent.Packet;
import agent.client.MonitorEvent.Place;
import agent.client.MonitorEvent.Translation;
import agent.contract.monitor.MonitorStream;
import agent.testkit.CannedMonitor;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class MonitorClientTest {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  @TempDir private Path directory;
  private Path socket;
  private CannedMonitor agent;

  @BeforeEach
  void start() throws IOException {
    socket = directory.resolve("agent-monitor.sock");
    agent = CannedMonitor.start(socket);
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private MonitorClient open() throws IOException {
    return MonitorClient.open(socket, MonitorStream.DROPS | MonitorStream.AGENT_EVENTS, LIMIT);
  }

  @Test
  void shouldReadEveryFieldOfAPacket() throws IOException {
    agent.hello(1, 72).flow(1, 1, "10.1.0.9", "10.1.0.7", 4, 0);
    agent.flow(3, 0, "fd00::9", "fd00::7", 2, 0);
    try (MonitorClient client = open()) {
      assertEquals("9.9.9", client.agentVersion());
      assertEquals(1000, client.queueEvents());
      assertEquals(0, client.packetBytes());
      assertEquals(List.of("none", "policy-denied", "malformed"), client.reasons());
      assertEquals(
          new Packet(
              Instant.ofEpochSecond(6, 123), // the clock of the frame is 5 s behind
              Kind.DROP,
              "policy-denied",
              "egress",
              6,
              0x12,
              7,
              new End(InetAddress.ofLiteral("10.1.0.9"), 43_210, 256),
              new End(InetAddress.ofLiteral("10.1.0.7"), 80, 257),
              60,
              12,
              true,
              ByteBuffer.allocate(0)),
          client.next(LIMIT));
      final Packet second = (Packet) client.next(LIMIT);
      assertEquals(Kind.TRACE, second.kind());
      assertEquals("none", second.reason());
      assertEquals(InetAddress.ofLiteral("fd00::9"), second.source().address());
      assertEquals(InetAddress.ofLiteral("fd00::7"), second.destination().address());
      assertEquals(false, second.isAudited());
      assertThrows(EOFException.class, () -> client.next(LIMIT));
    }
    assertEquals(List.of(1 << 1 | 1 << 16), agent.masks());
  }

  @Test
  void shouldNotMakeAnIpv4AddressOfAMappedOne() {
    assertEquals(16, MonitorClient.address("::ffff:10.0.0.5").getAddress().length);
    assertEquals(16, MonitorClient.address("2001:db8::1").getAddress().length);
    assertEquals(InetAddress.ofLiteral("10.0.0.5"), MonitorClient.address("10.0.0.5"));
    assertThrows(IllegalArgumentException.class, () -> MonitorClient.address("reserved:world"));
  }

  @Test
  void shouldReadEveryFieldOfATranslation() throws IOException {
    agent.translatingHello(96).translation(2, "10.1.0.9", "10.96.0.1", "10.1.0.7", 0);
    agent.translation(1, null, "fd96::1", "fd00::7", 8);
    agent.translation(3, "fd00::9", "fd96::1", "fd00::7", 0);
    agent.translation(4, "10.1.0.9", "192.0.2.1", "198.51.100.7", 0);
    try (MonitorClient client = open()) {
      assertTrue(client.tellsTranslations());
      assertEquals(
          new Translation(
              Instant.ofEpochSecond(6, 123),
              Place.ENDPOINT,
              6,
              7,
              7,
              0,
              new End(InetAddress.ofLiteral("10.1.0.9"), 43_210, 256),
              new End(InetAddress.ofLiteral("10.96.0.1"), 80, 0),
              new End(InetAddress.ofLiteral("10.1.0.7"), 8080, 257)),
          client.next(LIMIT));
      assertEquals(
          new Translation(
              Instant.ofEpochSecond(6, 123),
              Place.SOCKET,
              6,
              7,
              0,
              4711,
              new End(null, 0, 0),
              new End(InetAddress.ofLiteral("fd96::1"), 80, 0),
              new End(InetAddress.ofLiteral("fd00::7"), 8080, 0)),
          client.next(LIMIT));
      assertEquals(Place.NETWORK, ((Translation) client.next(LIMIT)).place());
      final Translation masqueraded = (Translation) client.next(LIMIT);
      assertEquals(Place.MASQUERADE, masqueraded.place());
      assertEquals(0, masqueraded.service());
    }
  }

  @Test
  void shouldKnowWhetherAnAgentTellsTranslations() throws IOException {
    agent.hello(1, 72, 4096).frame(6, 95);
    try (MonitorClient client = open()) {
      assertFalse(client.tellsTranslations());
      assertEquals(
          "a translation is too short",
          assertThrows(IOException.class, () -> client.next(LIMIT)).getMessage());
    }
  }

  /** An agent that does not say how many bytes it captures is older, and captures none. */
  @Test
  void shouldReadTheFirstBytesOfPackets() throws IOException {
    final byte[] first = {1, 2, (byte) 0xff};
    agent.capturingHello(128).packet(1, 1, "10.1.0.9", "10.1.0.7", first);
    agent.packet(3, 0, "fd00::9", "fd00::7", new byte[0]);
    for (int i = 0; i < 10; i++) {
      agent.packet(3, 0, "fd00::9", "fd00::7", new byte[30_000]);
    }
    agent.packet(3, 0, "fd00::9", "fd00::7", new byte[70_000]);
    try (MonitorClient client = open()) {
      assertEquals(128, client.packetBytes());
      final Packet packet = (Packet) client.next(LIMIT);
      assertEquals(ByteBuffer.wrap(first), packet.bytes());
      assertTrue(packet.bytes().isReadOnly());
      assertEquals(0, ((Packet) client.next(LIMIT)).bytes().remaining());
      for (int i = 0; i < 10; i++) {
        assertEquals(30_000, ((Packet) client.next(LIMIT)).bytes().remaining());
      }
      assertEquals(ByteBuffer.wrap(first), packet.bytes(), "no later one takes its place");
      assertEquals(70_000, ((Packet) client.next(LIMIT)).bytes().remaining());
    }
  }

  @Test
  void shouldReadEventsOfTheAgentAndLosses() throws IOException {
    agent.hello(1, 72).agent("{\"kind\":\"api\",\"path\":\"/ü\"}").lost(3, 1L << 40);
    try (MonitorClient client = open()) {
      assertEquals(
          new Activity(Instant.ofEpochSecond(7), "{\"kind\":\"api\",\"path\":\"/ü\"}"),
          client.next(LIMIT));
      assertEquals(new Lost(3, 1L << 40), client.next(LIMIT));
    }
  }

  @Test
  void shouldTellWhereKeptEventsEnd() throws IOException {
    agent.hello(1, 72, 4096).flow(1, 1, "10.1.0.9", "10.1.0.7", 0, 0).frame(5, 0).lost(1, 0);
    try (MonitorClient client =
        MonitorClient.open(socket, MonitorStream.DROPS | MonitorStream.KEPT_FIRST, LIMIT)) {
      assertEquals(4096, client.keptEvents());
      assertEquals(Kind.DROP, ((Packet) client.next(LIMIT)).kind());
      assertEquals(new KeptEnd(), client.next(LIMIT));
      assertEquals(new Lost(1, 0), client.next(LIMIT));
    }
    assertEquals(List.of(1 << 1 | 1 << 24), agent.masks());
  }

  /** It would wait for their end, which such an agent does not send. */
  @Test
  void shouldNotAskAnAgentForKeptEventsThatDoesNotKnowThem() throws IOException {
    agent.hello(1, 72);
    try (MonitorClient client = open()) {
      assertEquals(0, client.keptEvents());
    }
    final int mask = MonitorStream.DROPS | MonitorStream.KEPT_FIRST;
    final IOException failure =
        assertThrows(IOException.class, () -> MonitorClient.open(socket, mask, LIMIT));
    assertEquals("the agent has version 9.9.9, which does not keep events", failure.getMessage());
  }

  /** A later release appends members to an event, and sends frames of other types. */
  @Test
  void shouldSkipWhatALaterReleaseAdds() throws IOException {
    agent.hello(1, 80).frame(77, 100_000).flow(2, 2, "10.1.0.9", "10.1.0.7", 0, 8).lost(1, 0);
    try (MonitorClient client = open()) {
      final Packet packet = (Packet) client.next(LIMIT);
      assertEquals(Kind.VERDICT, packet.kind());
      assertEquals("malformed", packet.reason());
      assertEquals(new Lost(1, 0), client.next(LIMIT));
    }
  }

  @Test
  void shouldNameAReasonItDoesNotKnowByItsNumber() throws IOException {
    agent.hello(1, 72).flow(1, 3, "10.1.0.9", "10.1.0.7", 0, 0);
    agent.flow(1, 9, "10.1.0.9", "10.1.0.7", 0, 0);
    try (MonitorClient client = open()) {
      assertEquals("3", ((Packet) client.next(LIMIT)).reason());
      assertEquals("9", ((Packet) client.next(LIMIT)).reason());
    }
  }

  @Test
  void shouldReturnNothingWhereNoEventComesInTime() throws Exception {
    agent.close();
    try (var silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(socket));
      final IOException failure =
          assertThrows(
              IOException.class,
              () -> MonitorClient.open(socket, MonitorStream.DROPS, Duration.ofMillis(50)));
      assertEquals("the agent did not answer within 50 ms", failure.getMessage());
    }
  }

  @Test
  void shouldReadFramesOfEveryLength() throws IOException {
    agent.hello(1, 72).frame(77, 0).frame(78, (1 << 20) - 8).frame(79, 65_536 - 8).lost(1, 0);
    try (MonitorClient client = open()) {
      assertEquals(new Lost(1, 0), client.next(LIMIT));
    }
  }

  /** An agent that greets, and sends an event much later; a call may take an hour otherwise. */
  @Test
  @Timeout(60)
  void shouldWaitForTheNextEventAsLongAsItMayTake() throws Exception {
    agent.close();
    try (ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listener.bind(UnixDomainSocketAddress.of(socket));
      final CompletableFuture<SocketChannel> greeted =
          CompletableFuture.supplyAsync(() -> greet(listener));
      try (MonitorClient client =
              MonitorClient.open(socket, MonitorStream.DROPS, Duration.ofHours(1));
          SocketChannel peer = greeted.get()) {
        assertNull(client.next(Duration.ZERO));
        final long startNs = System.nanoTime();
        assertNull(client.next(Duration.ofMillis(200)));
        final long ms = (System.nanoTime() - startNs) / 1_000_000;
        assertTrue(ms >= 190, ms + " ms");
        final CompletableFuture<Void> late =
            CompletableFuture.runAsync(
                () -> send(peer, frame(MonitorStream.LOST, 16).putLong(8, 4).putLong(16, 2)),
                CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS));
        assertEquals(new Lost(4, 2), client.next(LIMIT));
        late.get();
      }
    }
  }

  private static SocketChannel greet(ServerSocketChannel listener) {
    try {
      final SocketChannel peer = listener.accept();
      final ByteBuffer hello = frame(MonitorStream.HELLO, 19);
      hello.putShort(8, (short) MonitorStream.VERSION);
      hello.putShort(10, (short) MonitorStream.FLOW_BYTES);
      send(peer, hello);
      return peer;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ByteBuffer frame(int type, int bytes) {
    final ByteBuffer frame = ByteBuffer.allocate(8 + bytes).order(ByteOrder.LITTLE_ENDIAN);
    return frame.putInt(0, 8 + bytes).putShort(4, (short) type);
  }

  private static void send(SocketChannel peer, ByteBuffer frame) {
    try {
      peer.write(frame);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldLeaveNoDescriptorBehind() throws IOException {
    agent.hello(1, 72);
    open().close();
    final Path other = directory.resolve("other");
    try (CannedMonitor later = CannedMonitor.start(other).hello(2, 72)) {
      final long before = descriptors();
      for (int i = 0; i < 20; i++) {
        open().close();
        assertThrows(
            IOException.class, () -> MonitorClient.open(other, MonitorStream.DROPS, LIMIT));
      }
      assertTrue(descriptors() < before + 10, before + " and then " + descriptors());
      assertEquals(20, later.masks().size());
    }
  }

  private static long descriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  @Test
  void shouldRefuseAnotherVersionAndAnotherProtocol() throws IOException {
    agent.hello(2, 72);
    assertEquals(
        "the agent speaks version 2 of the event stream protocol, this program version 1",
        assertThrows(IOException.class, this::open).getMessage());
    agent.close();
    agent = CannedMonitor.start(socket);
    agent.lost(1, 1);
    assertEquals(
        "the peer does not speak the event stream protocol",
        assertThrows(IOException.class, this::open).getMessage());
  }

  @Test
  void shouldRefuseFramesThatCannotBe() throws IOException {
    agent.hello(1, 72).frame(2, 71);
    try (MonitorClient client = open()) {
      assertEquals(
          "an event is too short",
          assertThrows(IOException.class, () -> client.next(LIMIT)).getMessage());
    }
    agent.close();
    agent = CannedMonitor.start(socket).hello(1, 72).flow(4, 0, "10.1.0.9", "10.1.0.7", 0, 0);
    try (MonitorClient client = open()) {
      assertEquals(
          "an event has the unknown type 4",
          assertThrows(IOException.class, () -> client.next(LIMIT)).getMessage());
    }
    agent.close();
    agent = CannedMonitor.start(socket).hello(1, 72).frame(77, 2 << 20);
    try (MonitorClient client = open()) {
      final IOException failure = assertThrows(IOException.class, () -> client.next(LIMIT));
      assertTrue(failure.getMessage().startsWith("a frame of "), failure.getMessage());
    }
  }

  @Test
  void shouldNameTheSocketBesideThatOfTheApi() {
    assertEquals("/run/agent-monitor.sock", MonitorStream.socketBeside("/run/agent.sock"));
    assertEquals("/run/api-monitor.sock", MonitorStream.socketBeside("/run/api"));
  }
}
