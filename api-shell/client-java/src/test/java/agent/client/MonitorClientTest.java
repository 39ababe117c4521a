package agent.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Lost;
import agent.client.MonitorEvent.Packet;
import agent.contract.monitor.MonitorStream;
import agent.testkit.CannedMonitor;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
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
              true),
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
  void shouldReadEventsOfTheAgentAndLosses() throws IOException {
    agent.hello(1, 72).agent("{\"kind\":\"api\",\"path\":\"/ü\"}").lost(3, 1L << 40);
    try (MonitorClient client = open()) {
      assertEquals(
          new Activity(Instant.ofEpochSecond(7), "{\"kind\":\"api\",\"path\":\"/ü\"}"),
          client.next(LIMIT));
      assertEquals(new Lost(3, 1L << 40), client.next(LIMIT));
    }
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
    agent.hello(1, 72).flow(1, 9, "10.1.0.9", "10.1.0.7", 0, 0);
    try (MonitorClient client = open()) {
      assertEquals("9", ((Packet) client.next(LIMIT)).reason());
    }
  }

  @Test
  void shouldReturnNothingWhereNoEventComesInTime() throws Exception {
    agent.close();
    try (var silent =
        java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
      silent.bind(java.net.UnixDomainSocketAddress.of(socket));
      final IOException failure =
          assertThrows(
              IOException.class,
              () -> MonitorClient.open(socket, MonitorStream.DROPS, Duration.ofMillis(50)));
      assertEquals("the agent did not answer for 50 ms", failure.getMessage());
    }
  }

  @Test
  void shouldRefuseAnotherVersionAndAnotherProtocol() throws IOException {
    agent.hello(2, 72);
    assertEquals(
        "the agent speaks version 2 of live events, and this program version 1",
        assertThrows(IOException.class, this::open).getMessage());
    agent.close();
    agent = CannedMonitor.start(socket);
    agent.lost(1, 1);
    assertEquals(
        "the agent does not speak the protocol of live events",
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
