package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** One agent with the options of operators: what it logs, serves and builds. */
@KernelTest
class AgentOperatorOptionsKernelTest {
  private static final int PORT = 8080;
  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(20);

  private static TestNode node;
  private static AgentProcess agent;
  private static TestWorkload first;
  private static TestWorkload dns;
  private static SyslogReceiver syslog;
  private static Path library;

  @BeforeAll
  static void startAgent() throws Exception {
    node = new TestNode();
    library = node.state().resolve("lib");
    final NetworkNamespace outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    final Path socket = node.state().resolve("log.sock");
    syslog = SyslogReceiver.start(socket);
    node.keep(syslog);
    changeKeptSource();
    final Path prefixes = node.state().resolve("prefixes.json");
    Files.writeString(prefixes, "{\"version\": 1, \"valid-prefixes\": [{\"prefix\": \"tier\"}]}");
    node.namespace().exec("ip", "link", "set", "lo", "up");
    agent =
        node.agent(
            "--device=ext0",
            "--agent-labels=rack=r1,zone=north",
            "--fixed-identity-mapping=128=dns",
            "--label-prefix-file=" + prefixes,
            "--enable-tracing",
            "--debug-verbose=endpoint",
            "--log-driver=syslog",
            "--log-opt=syslog.socket=" + socket + ",syslog.facility=local3,syslog.level=info",
            "--log-system-load",
            "--mtu=1400",
            "--prometheus-serve-addr=127.0.0.1:9090",
            "--pprof",
            "--keep-bpf-templates",
            "--lib-dir=" + library,
            "--preallocate-bpf-maps=false");
    first = node.workload(agent, "first", "app=a", "tier=front");
    dns = node.workload(agent, "dns", "app=b", "fixed-identity=dns");
    node.keep(TcpEchoServer.start(first.namespace(), PORT));
  }

  /** A first run writes the sources, of which one is then changed. */
  private static void changeKeptSource() throws Exception {
    final AgentProcess before =
        node.agent(
            "--device=ext0",
            "--keep-bpf-templates",
            "--lib-dir=" + library,
            "--preallocate-bpf-maps=true");
    assertEquals(0, flags("interfaces_overflow") & MapFlag.NO_PREALLOC, "preallocated");
    assertFalse(Files.exists(library.resolve("objects")), "the sources are the shipped ones");
    before.terminate();
    final Path source = library.resolve("bpf/programs/host.bpf.c");
    Files.writeString(
        source, Files.readString(source) + "\nconst volatile char operators_own = 1;\n");
  }

  private static int flags(String map) {
    final int fd = BpfFileSystem.open(node.bpfRoot().resolve("agent/maps/" + map));
    final int flags = MapDescription.of(fd).spec().flags();
    Descriptors.close(fd);
    return flags;
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static JsonNode endpoint(TestWorkload workload) throws Exception {
    return agent.expect(200, "GET", "/endpoint/" + workload.id(), null).json();
  }

  @Test
  void shouldShowItsLabelsInTheMetricsAndTheConfiguration() throws Exception {
    final String metrics = agent.expect(200, "GET", "/metrics/", null).text();
    assertTrue(metrics.contains("\"label\":\"rack=r1\""), metrics);
    assertTrue(metrics.contains("\"label\":\"zone=north\""), metrics);
    final JsonNode options =
        agent
            .expect(200, "GET", "/config", null)
            .json()
            .at("/status/daemonConfigurationMap/agent-labels");
    assertTrue(options.toString().contains("rack=r1"), options.toString());
  }

  @Test
  void shouldGiveTheChosenNumberAndMatchItByItsName() throws Exception {
    final JsonNode identity = endpoint(dns).at("/status/identity");
    assertEquals(128, identity.get("id").asInt(), identity.toString());
    assertEquals("[\"reserved:dns\"]", identity.get("labels").toString());
    agent.expect(
        200,
        "PUT",
        "/policy",
        "[{\"endpointSelector\":{\"matchLabels\":{\"tier\":\"front\"}},\"ingress\":"
            + "[{\"fromEndpoints\":[{\"matchLabels\":{\"reserved:dns\":\"\"}}]}]}]");
    final TestWorkload other = node.workload(agent, "other", "tier=back");
    for (final String address : new String[] {first.ipv4(), first.ipv6()}) {
      assertEquals(
          TcpConnection.Outcome.CONNECTED,
          TcpConnection.attempt(dns.namespace(), address, PORT, 2000));
      assertEquals(
          TcpConnection.Outcome.UNANSWERED,
          TcpConnection.attempt(other.namespace(), address, PORT, 500));
    }
    agent.expect(200, "DELETE", "/policy", null);
  }

  @Test
  void shouldMakeIdentitiesOfTheLabelsThatTheFileNames() throws Exception {
    final JsonNode labels = endpoint(first).at("/status/identity/labels");
    assertEquals("[\"unspec:tier=front\"]", labels.toString());
  }

  @Test
  void shouldLogWhyAnEndpointHasItsPolicy() throws Exception {
    final String line = "policy trace: endpoint " + first.id() + ": ";
    assertTrue(agent.log().contains(line + "identity "), agent.log());
    assertTrue(agent.log().contains(line + "INGRESS: not enforced"), agent.log());
  }

  @Test
  void shouldLogTheDetailsOfTheGroupAndOfNoOther() throws Exception {
    assertTrue(
        agent
            .log()
            .lines()
            .anyMatch(
                line ->
                    line.contains(" DEBUG [ep-conductor] EndpointJournal: endpoint " + first.id())),
        agent.log());
    assertTrue(agent.log().lines().noneMatch(line -> line.contains(" DEBUG [main] ")), agent.log());
  }

  /** Facility local3 is 19, so that a line of level INFO has 19 * 8 + 6. */
  @Test
  void shouldSendItsLogToTheLogDaemon() throws Exception {
    final String ready =
        "<158>[A-Z][a-z]{2} [ 123]\\d \\d\\d:\\d\\d:\\d\\d agent\\["
            + agent.pid()
            + "\\]: DaemonProcess: agent \\S+ is ready.*";
    final long endNs = System.nanoTime() + LONGEST_NS;
    while (syslog.lines().lines().noneMatch(line -> line.matches(ready))) {
      assertTrue(System.nanoTime() < endNs, syslog.lines());
      Thread.sleep(50); // it is received by another process
    }
    assertFalse(syslog.lines().contains("<159>"), "no debug messages: " + syslog.lines());
  }

  @Test
  void shouldLogTheLoadOfTheNode() throws Exception {
    assertTrue(agent.log().contains(" Daemon: system load "), agent.log());
  }

  @Test
  void shouldGiveInterfacesOfWorkloadsTheMtuAndKeepIt() throws Exception {
    final String show = "ip link show dev " + first.veth().hostInterface();
    assertTrue(node.namespace().exec(show.split(" ")).contains(" mtu 1400 "));
    final JsonNode config = agent.expect(200, "GET", "/config", null).json().get("status");
    assertEquals(1400, config.get("deviceMTU").asInt());
    assertEquals(1400, config.get("routeMTU").asInt());
    assertEquals(1400, config.at("/daemonConfigurationMap/mtu").asInt());
    node.namespace().exec("ip", "link", "set", first.veth().hostInterface(), "mtu", "1500");
    final long endNs = System.nanoTime() + LONGEST_NS;
    while (!node.namespace().exec(show.split(" ")).contains(" mtu 1400 ")) {
      assertTrue(System.nanoTime() < endNs, "the MTU is not set again");
      Thread.sleep(50);
    }
  }

  @Test
  void shouldServeItsMetricsOnTheAddress() throws Exception {
    final String answer =
        node.namespace()
            .run(
                () -> {
                  try (Socket socket = new Socket("127.0.0.1", 9090)) {
                    socket
                        .getOutputStream()
                        .write("GET /metrics HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    return new String(
                        socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                  }
                });
    assertTrue(answer.startsWith("HTTP/1.1 200") || answer.startsWith("HTTP/1.0 200"), answer);
    assertTrue(answer.contains("\nagent_labels{label=\"rack=r1\"} 1\n"), answer);
    assertTrue(answer.contains("\nagent_endpoints{state=\"ready\"} "), answer);
  }

  @Test
  void shouldServeTheProfilingApi() throws Exception {
    final String threads = agent.expect(200, "GET", "/debug/pprof/threads", null).text();
    assertTrue(threads.contains("dp-conductor"), threads);
  }

  @Test
  void shouldRunTheSourcesThatAnOperatorHasChanged() throws Exception {
    try (var objects = Files.list(library.resolve("objects"))) {
      assertEquals(1, objects.count(), "host, which was changed, and no other program");
    }
  }

  @Test
  void shouldAllocateEntriesOfHashMapsOnDemand() {
    assertEquals(MapFlag.NO_PREALLOC, flags("interfaces_overflow") & MapFlag.NO_PREALLOC);
    assertEquals(MapFlag.NO_PREALLOC, flags("devices") & MapFlag.NO_PREALLOC);
  }
}
