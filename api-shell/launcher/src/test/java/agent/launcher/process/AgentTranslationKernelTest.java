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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Which backends the connections of a workload to services are given, as subscribers hear it. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class AgentTranslationKernelTest {
  private static final int ID = 7;
  private static final int FRONTEND = 80;
  private static final int SERVED = 8080;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration QUIET = Duration.ofMillis(300);
  private static final JsonMapper MAPPER = new JsonMapper();

  @TempDir private Path directory;
  private TestNode node;
  private TestControlGroup group;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    node.keep(TcpEchoServer.start(WorldNetwork.connect(node), SERVED));
    group = TestControlGroup.create();
    agent = node.agent("--cgroup-root", group.path().toString(), "--device", WorldNetwork.DEVICE);
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

  private Void talk(String frontend) throws Exception {
    return talk(frontend, FRONTEND);
  }

  /** Opens a connection, and sends much by it. */
  private Void talk(String address, int port) throws Exception {
    try (TcpConnection open = TcpConnection.open(client.namespace(), address, port)) {
      assertTrue(open.exchangesMore(20, 5000));
    }
    return null;
  }

  /**
   * This process is outside the control group, so that the packets of a workload are translated.
   */
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
        assertEquals(client.identity(agent), packet.source().identity());
        assertEquals(new End(frontend, FRONTEND, 0), packet.frontend());
        assertEquals(new End(backend, SERVED, server.identity(agent)), packet.backend());
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

  /** By packet, at the socket, and of a flow to a host that knows the node alone. */
  @Test
  void shouldShowBothEndsAsJson() throws Exception {
    serve("fd96::1", server.ipv6());
    final String world = WorldNetwork.ADDRESSES.getLast();
    final Map<String, JsonNode> shown = new TreeMap<>();
    try (CtlProcess monitor = monitor("-o", "json")) {
      final long endNs = System.nanoTime() + LIMIT.toNanos();
      while (shown.size() < 3) { // it may not have subscribed yet
        assertTrue(System.nanoTime() < endNs, shown::toString);
        talk("fd96::1");
        group.run(() -> talk("fd96::1"));
        talk(world, SERVED);
        Thread.sleep(50);
        for (final String line : monitor.output().lines().toList()) {
          final JsonNode event = MAPPER.readTree(line);
          shown.put(event.get("place").asString(), event);
        }
      }
    }
    for (final JsonNode event : shown.values()) {
      assertEquals("translation", event.get("type").asString());
      assertEquals(6, event.get("protocol").asInt());
    }
    for (final String place : List.of("endpoint", "socket")) {
      final JsonNode event = shown.get(place);
      assertEquals("shop/web", event.get("service-name").asString());
      assertEquals("{\"address\":\"fd96::1\",\"port\":80}", event.get("frontend").toString());
      assertEquals(server.ipv6(), event.at("/backend/address").asString());
      assertEquals(SERVED, event.at("/backend/port").asInt());
      assertEquals(server.id(), event.at("/backend/endpoint").asInt());
    }
    for (final String place : List.of("endpoint", "masquerade")) {
      final JsonNode event = shown.get(place);
      assertEquals(client.ipv6(), event.at("/source/address").asString());
      assertEquals(client.id(), event.at("/source/endpoint").asInt());
      assertTrue(event.at("/source/labels").toString().contains("app=client"), event::toString);
    }
    final JsonNode masqueraded = shown.get("masquerade");
    assertEquals("2001:db8:2::1", masqueraded.at("/masqueraded-as/address").asString());
    assertEquals(world, masqueraded.at("/destination/address").asString());
    assertEquals(SERVED, masqueraded.at("/destination/port").asInt());
    assertTrue(
        masqueraded.at("/destination/labels").toString().contains("world"), masqueraded::toString);
  }

  private CtlProcess monitor(String... options) throws IOException {
    final List<String> line =
        new ArrayList<>(
            List.of("monitor", "--type", "translation", "-H", "unix://" + agent.socket()));
    line.addAll(List.of(options));
    return CtlProcess.start(directory, line.toArray(String[]::new));
  }

  @Test
  void shouldShowThemWithNames() throws Exception {
    serve("10.96.0.1", server.ipv4());
    try (CtlProcess monitor = monitor()) {
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
                  + ":\\d+ \\(client[^)]*\\) -> 10.96.0.1:80 \\(service 7 shop/web\\) -> "
                  + server.ipv4()
                  + ":8080 \\(server[^)]*\\) TCP, endpoint "
                  + client.id()),
          line);
    }
  }
}
