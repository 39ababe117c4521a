package agent.cli.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.CliFixture;
import agent.cli.call.CommonOptions;
import agent.cli.call.Invocation;
import agent.cli.call.LocalParts;
import agent.cli.call.Surroundings;
import agent.cli.grammar.LineParser;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lines of packets of every kind, and the names in them. */
@Timeout(60)
class MonitorLinesTest {
  private static final ByteBuffer NO_BYTES = ByteBuffer.allocate(0);
  private static final InetAddress CLIENT = InetAddress.ofLiteral("10.1.0.9");
  private static final InetAddress WEB = InetAddress.ofLiteral("10.1.0.7");

  private CliFixture agent;
  private EndNames names;

  @BeforeEach
  void start() throws IOException {
    agent = new CliFixture();
    agent.on("GET /identity", "[{\"id\":256,\"labels\":[\"orch:app=web\"]}]");
    agent.on(
        "GET /endpoint",
        """
        [{"id":7,"status":{"networking":{"addressing":[{"ipv4":"10.1.0.7","ipv6":""}]}}},
         {"id":8,"status":{}}]
        """);
    final PrintStream out = new PrintStream(agent.out, true);
    names =
        new EndNames(
            new Invocation(
                new LineParser<>(MonitorCommand.command(), CommonOptions.globalOptions())
                    .parse(List.of("--host", agent.address())),
                new Surroundings(
                    InputStream.nullInputStream(),
                    out,
                    Path.of("/dev/null"),
                    out,
                    Map.of(),
                    CliFixture.PIPE,
                    LocalParts.NONE)));
    names.load();
  }

  @AfterEach
  void stop() throws IOException {
    agent.close();
  }

  private static Packet packet(Kind kind, String reason, int protocol, int flags, boolean audit) {
    return new Packet(
        Instant.EPOCH,
        kind,
        reason,
        "ingress",
        protocol,
        flags,
        0,
        new End(CLIENT, 7, 300),
        new End(WEB, 80, 0),
        60,
        3,
        audit,
        NO_BYTES);
  }

  /** Returns the line without its time. */
  private String line(Packet packet) {
    return new MonitorLines(names, false).of(packet).substring("00:00:00.000000 ".length());
  }

  @Test
  void shouldSayWhatBecameOfAPacket() {
    final String ends = ": 10.1.0.9 (identity 300) -> 10.1.0.7 ICMP, 60 bytes";
    assertEquals(
        "verdict ingress policy-denied" + ends,
        line(packet(Kind.VERDICT, "policy-denied", 1, 0, false)));
    assertEquals("verdict ingress allowed" + ends, line(packet(Kind.VERDICT, "none", 1, 0, false)));
    assertEquals(
        "trace   ingress forwarded by audit mode" + ends,
        line(packet(Kind.TRACE, "none", 1, 0, true)));
    assertEquals("trace   ingress forwarded" + ends, line(packet(Kind.TRACE, "none", 1, 0, false)));
  }

  @Test
  void shouldNameEachFlagOfTcpAndOfTcpAlone() {
    assertTrue(line(packet(Kind.DROP, "x", 6, 0, false)).contains(" TCP, 60 bytes"));
    assertTrue(
        line(packet(Kind.DROP, "x", 6, 0x3f, false)).contains(" TCP FIN,SYN,RST,PSH,ACK,URG, 60"));
    assertTrue(line(packet(Kind.DROP, "x", 17, 0x3f, false)).contains(" UDP, 60 bytes"));
    assertTrue(line(packet(Kind.DROP, "x", 132, 0, false)).contains("10.1.0.7:80 SCTP, 60 bytes"));
    final String json = new MonitorLines(names, true).of(packet(Kind.DROP, "x", 17, 0x3f, true));
    assertTrue(!json.contains("tcp-flags") && json.endsWith(",\"audit\":true}"), json);
    assertTrue(json.contains("\"endpoint\":7,\"name\":null}"), json);
  }

  @Test
  void shouldShowAPacketThatIsNeitherIpv4NorIpv6() {
    final End none = new End(null, 0, 0);
    final Packet frame =
        new Packet(
            Instant.EPOCH, Kind.DROP, "x", "egress", 0, 0, 12, none, none, 60, 3, false, NO_BYTES);
    assertEquals(
        "drop    egress  x: - -> - neither IPv4 nor IPv6, 60 bytes, endpoint 12", line(frame));
    final String json = new MonitorLines(names, true).of(frame);
    assertTrue(
        json.contains("\"source\":{\"address\":null,\"port\":0,\"identity\":0,\"labels\":[]}"),
        json);
  }

  @Test
  void shouldShowAChangeOfAService() {
    final MonitorLines lines = new MonitorLines(names, false);
    final String deleted = "{\"kind\":\"service\",\"service\":7,\"change\":\"deleted\"";
    assertTrue(lines.of(new Activity(Instant.EPOCH, deleted + "}")).endsWith(" service 7 deleted"));
    final String of = ",\"frontend\":\"10.96.0.1:80/TCP\",\"backends\":3,\"name\":\"web\"}";
    final String line = lines.of(new Activity(Instant.EPOCH, deleted + of));
    assertTrue(line.endsWith(" agent   service 7 deleted: 10.96.0.1:80/TCP with 3 backends"), line);
  }

  @Test
  void shouldShowWhatTheAgentSaysOfItselfWithoutAMessage() {
    final MonitorLines lines = new MonitorLines(names, false);
    for (final String message : List.of("", ",\"message\":\"\"")) {
      final String json = "{\"kind\":\"endpoint\",\"endpoint\":7,\"state\":\"ready\"" + message;
      assertTrue(
          lines.of(new Activity(Instant.EPOCH, json + "}")).endsWith(" endpoint 7 ready"), message);
    }
  }

  /** A name that is not known is asked for again, and at most once a second. */
  @Test
  void shouldAskAgainForNamesThatItDoesNotKnow() throws Exception {
    assertEquals(List.of("orch:app=web"), names.labels(256));
    assertEquals(List.of(), names.labels(0));
    assertEquals(7, names.endpoint(WEB).id());
    assertNull(names.endpoint(CLIENT));
    agent.on("GET /identity", "[{\"id\":300,\"labels\":[\"orch:app=client\"]}]");
    agent.on("GET /endpoint", "[]");
    assertEquals(List.of(), names.labels(300));
    assertEquals(2, agent.requests().size(), "too early");
    Thread.sleep(1100);
    assertEquals(List.of("orch:app=web"), names.labels(256));
    assertEquals(List.of(), names.labels(0));
    assertEquals(2, agent.requests().size(), "nothing is unknown");
    assertEquals(List.of("orch:app=client"), names.labels(300));
    assertEquals(4, agent.requests().size());
    assertNull(names.endpoint(WEB), "it has gone");
    assertEquals(List.of(), names.labels(256), "and so has its identity");
    assertEquals(4, agent.requests().size());
  }
}
