package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.client.MonitorEvent.Activity;
import agent.client.MonitorEvent.Kind;
import agent.client.MonitorEvent.Packet;
import agent.contract.monitor.MonitorStream;
import agent.testkit.KernelTest;
import agent.testkit.NetworkCounters;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.UdpStream;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Live events of real packets and of the daemon, on the socket beside that of the API. */
@KernelTest
class AgentMonitorKernelTest {
  private static final int ALLOWED = 8080;
  private static final int DENIED = 9090;
  private static final int QUEUE = 100;
  private static final int PACKET_BYTES =
      74; // headers of IPv4 and TCP with timestamps, and a number
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration QUIET = Duration.ofMillis(300);

  /** Between two messages, so that few events wait for a reader that comes late. */
  private static final int INTERVAL_MS = 50;

  /** Comes before what takes the place of a line. */
  private static final String ERASE = "\r\u001b[K";

  /** A rate that another one, or an event, has taken the place of. */
  private static final Pattern RATE =
      Pattern.compile("(\\d+) events a second" + Pattern.quote(ERASE));

  private static final JsonMapper MAPPER = new JsonMapper();

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload frontend;
  private static TestWorkload backend;

  @BeforeAll
  static void startAgentAndWorkloads() throws Exception {
    node = new TestNode();
    agent = launch();
    frontend = node.workload(agent, "frontend", "app=frontend");
    backend = node.workload(agent, "backend", "app=backend");
    node.keep(TcpEchoServer.start(backend.namespace(), ALLOWED));
    node.keep(TcpEchoServer.start(backend.namespace(), DENIED));
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "backend"}},
          "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "frontend"}}],
            "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}]
        """);
  }

  private static AgentProcess launch() throws Exception {
    return node.agent(
        "--monitor-queue-size",
        Integer.toString(QUEUE),
        "--trace-payloadlen",
        Integer.toString(PACKET_BYTES));
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static Path socket() {
    return Path.of(MonitorStream.socketBeside(agent.socket().toString()));
  }

  private static MonitorClient open(int mask) throws IOException {
    return MonitorClient.open(socket(), mask, LIMIT);
  }

  /** Returns what comes: so many packets sooner or later, and what follows them without a pause. */
  private static List<Packet> packets(MonitorClient client, long least, Predicate<Packet> wanted)
      throws IOException {
    final List<Packet> packets = new ArrayList<>();
    MonitorEvent event = next(client, packets.size() < least);
    while (event != null) {
      if (event instanceof Packet packet && wanted.test(packet)) {
        packets.add(packet);
      }
      event = next(client, packets.size() < least);
    }
    return packets;
  }

  private static MonitorEvent next(MonitorClient client, boolean mustCome) throws IOException {
    return client.next(mustCome ? LIMIT : QUIET);
  }

  private static boolean isToDenied(Packet packet) {
    return packet.destination().port() == DENIED;
  }

  /** Segments that the namespace has sent, those that were sent again included. */
  private static long sentSegments(NetworkNamespace namespace) {
    final NetworkCounters counters = NetworkCounters.of(namespace);
    return counters.value("Tcp:OutSegs") + counters.value("Tcp:RetransSegs");
  }

  /** The network stack of the sender counts as many segments as there are drops. */
  @Test
  void shouldTellEveryPacketThatPolicyDrops() throws Exception {
    final long identity = frontend.identity(agent);
    for (final String address : List.of(backend.ipv4(), backend.ipv6())) {
      try (MonitorClient client = open(MonitorStream.DROPS)) {
        final long before = sentSegments(frontend.namespace());
        final Instant start = Instant.now();
        assertEquals(
            Outcome.UNANSWERED, TcpConnection.attempt(frontend.namespace(), address, DENIED, 1500));
        final long sent = sentSegments(frontend.namespace()) - before;
        final List<Packet> drops = packets(client, sent, AgentMonitorKernelTest::isToDenied);
        assertTrue(sent >= 2, "a segment was sent again");
        assertEquals(sent, drops.size());
        for (final Packet drop : drops) {
          assertEquals(Kind.DROP, drop.kind());
          assertEquals("policy-denied", drop.reason());
          assertEquals(InetAddress.ofLiteral(address), drop.destination().address());
          assertEquals(identity, drop.source().identity());
          assertEquals(6, drop.protocol());
          assertEquals(2, drop.tcpFlags(), "SYN");
          assertEquals(drops.getFirst().source(), drop.source());
          final long afterMs = Duration.between(start, drop.time()).toMillis();
          assertTrue(afterMs > -100 && afterMs < 5000, afterMs + " ms after the start");
        }
      }
    }
  }

  /** Returns what has come when a packet was dropped. */
  private static List<Packet> packetsUntilDrop(MonitorClient client) throws IOException {
    final List<Packet> all = new ArrayList<>();
    MonitorEvent event = null;
    do {
      event = client.next(LIMIT);
      if (event instanceof Packet packet) {
        all.add(packet);
      }
    } while (event != null && !(event instanceof Packet packet && packet.kind() == Kind.DROP));
    return all;
  }

  /** The segment of an echo client has its data in pages, not behind its headers. */
  @Test
  void shouldSendTheFirstBytesOfPacketsToWhoAsksForThem() throws Exception {
    final String config = "/endpoint/" + frontend.id() + "/config";
    agent.expect(200, "PATCH", config, "{\"options\": {\"TraceNotification\": \"Enabled\"}}");
    final int types = MonitorStream.TRACES | MonitorStream.DROPS;
    try (MonitorClient plain = open(types);
        MonitorClient client = open(types | MonitorStream.PACKET_BYTES)) {
      assertEquals(PACKET_BYTES, client.packetBytes());
      for (final String address : List.of(backend.ipv4(), backend.ipv6())) {
        try (TcpConnection connection =
            TcpConnection.open(frontend.namespace(), address, ALLOWED, INTERVAL_MS)) {
          assertTrue(connection.exchangesMore(3, 5000));
        }
      }
      TcpConnection.attempt(frontend.namespace(), backend.ipv4(), DENIED, 300);
      final List<Packet> all = packetsUntilDrop(client);
      final Set<Long> numbers = new TreeSet<>();
      for (final Packet packet : all) {
        assertEquals(Math.min(PACKET_BYTES, packet.length()), packet.bytes().remaining());
        if (packet.protocol() == 6 && packet.destination().address() instanceof Inet4Address to) {
          final ByteBuffer bytes = packet.bytes();
          assertEquals(0x0800, bytes.getShort(12), "Ethernet type");
          assertEquals(packet.length() - 14, bytes.getShort(14 + 2), "IPv4 length");
          assertEquals(ByteBuffer.wrap(to.getAddress()), bytes.slice(14 + 16, 4));
          assertEquals(packet.destination().port(), bytes.getShort(34 + 2) & 0xffff);
          if (packet.destination().port() == ALLOWED && packet.length() == PACKET_BYTES) {
            numbers.add(bytes.getLong(PACKET_BYTES - Long.BYTES));
          }
        }
      }
      assertTrue(numbers.containsAll(Set.of(1L, 2L, 3L)), "" + numbers);
      assertTrue(all.stream().anyMatch(packet -> packet.length() > PACKET_BYTES), "" + all);
      assertTrue(all.stream().anyMatch(packet -> packet.kind() == Kind.DROP), "" + all);
      for (final Packet packet : packetsUntilDrop(plain)) {
        assertEquals(0, packet.bytes().remaining());
      }
    } finally {
      agent.expect(200, "PATCH", config, "{\"options\": {\"TraceNotification\": \"Disabled\"}}");
    }
  }

  @Test
  void shouldTellTheVerdictOnANewFlowOnce() throws Exception {
    try (MonitorClient client = open(MonitorStream.VERDICTS)) {
      try (TcpConnection connection =
          TcpConnection.open(frontend.namespace(), backend.ipv4(), ALLOWED)) {
        assertTrue(connection.exchangesMore(20, 5000));
      }
      final List<Packet> verdicts =
          packets(client, 1, packet -> packet.destination().port() == ALLOWED);
      assertEquals(1, verdicts.size(), "" + verdicts);
      assertEquals(Kind.VERDICT, verdicts.getFirst().kind());
      assertEquals("none", verdicts.getFirst().reason());
      assertEquals(frontend.id(), verdicts.getFirst().endpoint(), "the first that saw the flow");
      assertEquals(frontend.identity(agent), verdicts.getFirst().source().identity());
    }
  }

  @Test
  void shouldTellWhatTheDaemonDoes() throws Exception {
    try (MonitorClient client = open(MonitorStream.AGENT_EVENTS)) {
      final String config = "/endpoint/" + frontend.id() + "/config";
      agent.expect(400, "PATCH", config, "{\"options\": {\"Nonsense\": \"Enabled\"}}");
      agent.expect(200, "GET", config, null);
      agent.expect(200, "PATCH", config, "{\"options\": {\"Debug\": \"Enabled\"}}");
      final List<JsonNode> events = new ArrayList<>();
      while (isBefore(events)) {
        events.add(MAPPER.readTree(((Activity) client.next(LIMIT)).json()));
      }
      // What the test before has changed may be reported first.
      final JsonNode refused =
          events.stream()
              .filter(event -> text(event, "kind").equals("api"))
              .findFirst()
              .orElseThrow();
      assertEquals("PATCH " + config, text(refused, "method") + " " + text(refused, "path"));
      assertEquals(400, refused.get("status").asInt());
      assertTrue(text(refused, "message").contains("Nonsense"), "" + refused);
      assertTrue(text(refused, "client").startsWith("pid="), "" + refused);
      assertTrue(
          events.stream()
              .anyMatch(
                  event ->
                      text(event, "kind").equals("endpoint")
                          && event.get("endpoint").asInt() == frontend.id()
                          && text(event, "state").equals("regenerating")),
          "" + events);
    }
  }

  @Test
  void shouldTellChangesOfServices() throws Exception {
    final String service =
        """
        {"frontend-address": {"ip": "10.96.0.9", "port": 80, "protocol": "TCP"},
         "backend-addresses": [{"ip": "%s", "port": 8080, "protocol": "TCP", "weight": %d}]}""";
    try (MonitorClient client = open(MonitorStream.AGENT_EVENTS)) {
      agent.expect(201, "PUT", "/service/7", service.formatted(backend.ipv4(), 1));
      agent.expect(200, "PUT", "/service/7", service.formatted(backend.ipv4(), 2));
      agent.expect(200, "PUT", "/service/7", service.formatted(backend.ipv4(), 2));
      agent.expect(200, "DELETE", "/service/7", null);
      final List<String> changes = new ArrayList<>();
      for (final JsonNode json : activities(client, "service", 3)) {
        assertEquals(7, json.get("service").asInt());
        assertEquals("10.96.0.9:80/TCP", text(json, "frontend"));
        assertEquals(1, json.get("backends").asInt());
        changes.add(text(json, "change"));
      }
      assertEquals(List.of("created", "updated", "deleted"), changes);
    }
  }

  @Test
  void shouldTellEachCommitOfRulesOnce() throws Exception {
    final String rule =
        """
        [{"endpointSelector": {"matchLabels": {"app": "backend"}}, "egress": [{"toEntities": ["all"]}],
          "labels": [{"key": "name", "source": "user", "value": "reported"}]}]
        """;
    try (MonitorClient client = open(MonitorStream.AGENT_EVENTS)) {
      agent.expect(200, "PUT", "/policy", rule);
      agent.expect(200, "PUT", "/policy", rule);
      agent.expect(200, "DELETE", "/policy", "[\"user:name=reported\"]");
      final List<String> reported = new ArrayList<>();
      long revision = 0;
      for (final JsonNode json : activities(client, "policy", 2)) {
        assertTrue(revision == 0 || json.get("revision").asLong() == revision + 1, "" + json);
        revision = json.get("revision").asLong();
        reported.add(
            "%d rules +%d -%d %s"
                .formatted(
                    json.get("rules").asInt(),
                    json.get("added").asInt(),
                    json.get("removed").asInt(),
                    json.get("labels")));
      }
      assertEquals(
          List.of(
              "2 rules +1 -0 [\"user:name=reported\"]", "1 rules +0 -1 [\"user:name=reported\"]"),
          reported);
    }
  }

  /** Returns events of a kind: so many sooner or later, and what follows them without a pause. */
  private static List<JsonNode> activities(MonitorClient client, String kind, int least)
      throws IOException {
    final List<JsonNode> activities = new ArrayList<>();
    MonitorEvent event = next(client, true);
    while (event != null) {
      final JsonNode json = MAPPER.readTree(((Activity) event).json());
      if (text(json, "kind").equals(kind)) {
        activities.add(json);
      }
      event = next(client, activities.size() < least);
    }
    return activities;
  }

  private static String text(JsonNode event, String name) {
    return event.get(name).asString();
  }

  private static boolean isBefore(List<JsonNode> events) {
    return events.isEmpty()
        || !text(events.getLast(), "kind").equals("api")
        || events.getLast().get("status").asInt() != 200;
  }

  /** The start script says what is a terminal, so that it is run as it is installed. */
  @Test
  void shouldShowTheRateOnATerminalAlone(@TempDir Path prefix) throws Exception {
    final String monitor =
        CtlProcess.install(prefix)
            + " -H unix://"
            + agent.socket()
            + " monitor --type drop -o json";
    final Path events = Files.createFile(prefix.resolve("events"));
    try (CtlProcess shown = CtlProcess.onTerminal(prefix.resolve("shown"), monitor);
        CtlProcess redirected =
            CtlProcess.onTerminal(prefix.resolve("redirected"), monitor + " >" + events)) {
      final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (RATE.matcher(shown.written()).results().count() < 3 || wholeLines(events).isEmpty()) {
        assertTrue(System.nanoTime() < endNs, shown::written);
        UdpStream.isAnswered(frontend.namespace(), backend.ipv4(), DENIED, 100);
      }
      assertTrue(
          RATE.matcher(shown.written()).results().anyMatch(rate -> !rate.group(1).equals("0")));
      final String text = shown.written(); // of which the end may be written in part
      final String whole = text.substring(0, text.lastIndexOf(ERASE) + ERASE.length());
      for (final String line : RATE.matcher(whole).replaceAll("").lines().toList()) {
        assertTrue(
            line.isEmpty() || line.startsWith("{") || line.matches("\\d* events a second"), line);
      }
      assertEquals("", redirected.written());
      for (final String line : wholeLines(events)) {
        assertEquals("drop", MAPPER.readTree(line).get("type").asString());
      }
    }
  }

  private static List<String> wholeLines(Path file) throws IOException {
    final String text = Files.readString(file);
    return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
  }

  @Test
  void shouldHoldAsManyEventsAsTheOptionSaysAndCountSubscribers() throws Exception {
    awaitSubscribers(0);
    try (MonitorClient client = open(MonitorStream.DROPS)) {
      final int held = client.queueEvents();
      assertTrue(held >= QUEUE && held < 3 * QUEUE, held + " events");
      awaitSubscribers(1);
    }
    awaitSubscribers(0);
  }

  /** The answer is rendered anew within a second, and one that is gone counts so long. */
  private static void awaitSubscribers(int count) throws Exception {
    final long endNs = System.nanoTime() + LIMIT.toNanos();
    while (subscribers() != count) {
      assertTrue(System.nanoTime() < endNs, subscribers() + " subscribers");
      Thread.sleep(20);
    }
  }

  private static int subscribers() throws Exception {
    return agent
        .expect(200, "GET", "/healthz", null)
        .json()
        .at("/nodeMonitor/subscribers")
        .asInt(-1);
  }

  @Test
  void shouldReplaceTheSocketThatAKilledDaemonLeaves() throws Exception {
    agent.kill();
    assertTrue(Files.exists(socket()));
    agent = launch();
    try (MonitorClient client = open(MonitorStream.DROPS)) {
      assertEquals(
          Outcome.UNANSWERED,
          TcpConnection.attempt(frontend.namespace(), backend.ipv4(), DENIED, 400));
      assertFalse(packets(client, 1, AgentMonitorKernelTest::isToDenied).isEmpty());
    }
    assertEquals(0, agent.terminate());
    assertFalse(Files.exists(socket()));
    agent = launch();
  }
}
