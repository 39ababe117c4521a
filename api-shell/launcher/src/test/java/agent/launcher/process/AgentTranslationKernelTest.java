package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.End;
import agent.client.MonitorEvent.Place;
import agent.client.MonitorEvent.Translation;
import agent.contract.monitor.MonitorStream;
import agent.testkit.KernelTest;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.TestControlGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Which backends the connections of a workload to services are given, as subscribers hear it. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentTranslationKernelTest {
  private static final int ID = 7;
  private static final int FRONTEND = 80;
  private static final int SERVED = 8080;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration QUIET = Duration.ofMillis(300);

  @TempDir private Path directory;
  private TestNode node;
  private TestControlGroup group;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    group = TestControlGroup.create();
    agent = node.agent("--cgroup-root", group.path().toString());
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    node.keep(TcpEchoServer.start(server.namespace(), SERVED));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
    group.close();
  }

  private MonitorClient open(int mask) throws IOException {
    return MonitorClient.open(
        Path.of(MonitorStream.socketBeside(agent.socket().toString())), mask, LIMIT);
  }

  private void serve(String frontend, String backend) throws Exception {
    agent.expect(
        201,
        "PUT",
        "/service/" + ID,
        """
        {"frontend-address": {"ip": "%s", "port": %d, "protocol": "TCP"},
         "backend-addresses": [{"ip": "%s", "port": %d, "protocol": "TCP"}],
         "flags": {"name": "web", "namespace": "shop"}}"""
            .formatted(frontend, FRONTEND, backend, SERVED));
  }

  /** Opens a connection, and sends much by it. */
  private Void talk(String frontend) throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), frontend, FRONTEND)) {
      assertTrue(open.exchangesMore(20, 5000));
    }
    return null;
  }

  private long identity(TestWorkload workload) throws Exception {
    return agent
        .expect(200, "GET", "/endpoint/" + workload.id(), null)
        .json()
        .at("/status/identity/id")
        .asLong();
  }

  /** This process is outside the control group, so that the packets of a workload are translated. */
  @Test
  void shouldTellTheBackendOfAConnectionOnceByPacketAndAtTheSocket() throws Exception {
    final String[][] families = {
      {"10.96.0.1", server.ipv4(), client.ipv4()}, {"fd96::1", server.ipv6(), client.ipv6()}
    };
    for (final String[] family : families) {
      serve(family[0], family[1]);
      final InetAddress frontend = InetAddress.ofLiteral(family[0]);
      final InetAddress backend = InetAddress.ofLiteral(family[1]);
      try (MonitorClient events = open(MonitorStream.TRANSLATIONS);
          MonitorClient others = open(MonitorStream.DROPS | MonitorStream.TRACES)) {
        talk(family[0]);
        final Translation packet = (Translation) events.next(LIMIT);
        assertEquals(Place.ENDPOINT, packet.place());
        assertEquals(6, packet.protocol());
        assertEquals(ID, packet.service());
        assertEquals(client.id(), packet.endpoint());
        assertEquals(InetAddress.ofLiteral(family[2]), packet.source().address());
        assertEquals(identity(client), packet.source().identity());
        assertEquals(new End(frontend, FRONTEND, 0), packet.frontend());
        assertEquals(new End(backend, SERVED, identity(server)), packet.backend());
        final long ageMs = Duration.between(packet.time(), Instant.now()).toMillis();
        assertTrue(ageMs >= -100 && ageMs < 60_000, ageMs + " ms");
        group.run(() -> talk(family[0]));
        final Translation socket = (Translation) events.next(LIMIT);
        assertEquals(Place.SOCKET, socket.place());
        assertEquals(ID, socket.service());
        assertNotEquals(0, socket.namespaceCookie());
        assertEquals(new End(frontend, FRONTEND, 0), socket.frontend());
        assertEquals(new End(backend, SERVED, 0), socket.backend());
        assertNull(events.next(QUIET), "one for each connection");
        for (MonitorEvent event = others.next(QUIET); event != null; event = others.next(QUIET)) {
          assertTrue(event instanceof MonitorEvent.Packet, event.toString());
        }
      }
      agent.expect(200, "DELETE", "/service/" + ID, null);
    }
  }

  @Test
  void shouldShowThemWithNames() throws Exception {
    serve("10.96.0.1", server.ipv4());
    try (CtlProcess monitor =
        CtlProcess.start(
            directory, "monitor", "--type", "translation", "-H", "unix://" + agent.socket())) {
      final long endNs = System.nanoTime() + LIMIT.toNanos();
      while (monitor.output().indexOf('\n') < 0) { // it may not have subscribed yet
        assertTrue(System.nanoTime() < endNs, "the monitor tells a connection in time");
        talk("10.96.0.1");
        Thread.sleep(50);
      }
      final String line = monitor.output().lines().findFirst().orElseThrow();
      assertTrue(
          line.matches(
              ".* translation "
                  + client.ipv4()
                  + ":\\d+ \\(client-\\d+\\) -> 10.96.0.1:80 \\(service 7 shop/web\\) -> "
                  + server.ipv4()
                  + ":8080 \\(server-\\d+\\) TCP, endpoint "
                  + client.id()),
          line);
    }
  }
}
