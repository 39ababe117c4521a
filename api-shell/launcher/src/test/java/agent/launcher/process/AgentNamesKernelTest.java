package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.client.MonitorClient;
import agent.client.MonitorEvent;
import agent.contract.monitor.MonitorStream;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** {@code toFQDNs} with a DNS server, on real traffic in both families. */
@KernelTest
class AgentNamesKernelTest {
  private static final int PORT = 8080;
  private static final String RESOLVER = "198.51.100.53";
  private static final List<String> FIRST = List.of("198.51.100.9", "2001:db8:51::9");
  private static final List<String> SECOND = List.of("198.51.100.10", "2001:db8:51::10");
  private static final String LEAST_TTL_SEC = "8";
  private static final long LONGEST_SEC = 60;

  @TempDir private Path directory;
  private TestNode node;
  private NetworkNamespace outside;
  private AgentProcess agent;
  private TestWorkload client;

  @BeforeEach
  void connectTheOutside() throws Exception {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace().ip("address add 198.51.100.1/24 dev ext0");
    node.namespace().ip("address add 2001:db8:51::1/64 dev ext0 nodad");
    node.namespace().ip("address add fe80::1/64 dev ext0 nodad"); // a router asks with it
    for (final String address : Stream.concat(FIRST.stream(), SECOND.stream()).toList()) {
      outside.ip(
          "address add "
              + address
              + (address.indexOf(':') < 0 ? "/24" : "/64 nodad")
              + " dev eth0");
    }
    outside.ip("address add " + RESOLVER + "/24 dev eth0");
    outside.ip("route add 10.210.0.0/24 via 198.51.100.1");
    outside.ip("-6 route add fd00:210::/96 via 2001:db8:51::1");
    node.keep(TcpEchoServer.start(outside, PORT));
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  /** Starts an agent whose {@code resolv.conf} names the server outside. */
  private void start(String... options) throws Exception {
    final Path file = directory.resolve("resolv.conf");
    Files.writeString(file, "nameserver " + RESOLVER + "\n");
    agent = node.launchWithResolverFile(file, options).ready();
  }

  private void poll(String... more) throws Exception {
    final List<String> options =
        List.of(
            "--tofqdns-enable-poller",
            "--tofqdns-min-ttl",
            LEAST_TTL_SEC,
            "--conntrack-garbage-collector-interval=2");
    start(Stream.concat(options.stream(), Stream.of(more)).toArray(String[]::new));
  }

  private void allow(String names) throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "client"}},
          "egress": [{"toFQDNs": [%s],
            "toPorts": [{"ports": [{"port": "8080", "protocol": "TCP"}]}]}]}]
        """
            .formatted(names));
  }

  private boolean isReached(String address) {
    return TcpConnection.attempt(client.namespace(), address, PORT, 400) == Outcome.CONNECTED;
  }

  private void awaitReached(boolean isReached, List<String> addresses) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    for (final String address : addresses) {
      while (isReached(address) != isReached) {
        assertTrue(System.nanoTime() < deadline, address + "\n" + names() + "\n" + agent.log());
        Thread.sleep(100);
      }
    }
  }

  private void assertReached(boolean isReached, List<String> addresses) throws Exception {
    for (final String address : addresses) {
      assertEquals(isReached, isReached(address), address + "\n" + agent.log());
    }
  }

  /** What a name has no longer is stored by a thread of its own, after the rules do without it. */
  private void awaitNotStored(List<String> addresses) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    String stored = StateFiles.storedNames(node);
    while (hasOneOf(stored, addresses)) {
      assertTrue(System.nanoTime() < deadline, stored);
      Thread.sleep(20);
      stored = StateFiles.storedNames(node);
    }
  }

  private static boolean hasOneOf(String stored, List<String> addresses) {
    return addresses.stream().anyMatch(address -> stored.contains('"' + address + '"'));
  }

  private String names() throws Exception {
    return agent.call("GET", "/fqdn/cache", null).text();
  }

  private List<String> fqdns(String query) throws Exception {
    return StreamSupport.stream(
            agent.expect(200, "GET", "/fqdn/cache" + query, null).json().spliterator(), false)
        .map(lookup -> lookup.get("fqdn").asString())
        .distinct()
        .toList();
  }

  private String health() throws Exception {
    return agent.expect(200, "GET", "/health", null).text();
  }

  private static String record(String name, List<String> addresses) {
    return String.join("\n", addresses.stream().map(address -> address + " " + name).toList());
  }

  private MonitorClient agentEvents() throws Exception {
    return MonitorClient.open(
        Path.of(MonitorStream.socketBeside(agent.socket().toString())),
        MonitorStream.AGENT_EVENTS,
        Duration.ofSeconds(LONGEST_SEC));
  }

  private static String nextActivity(MonitorClient events) throws Exception {
    while (true) {
      if (events.next(Duration.ofSeconds(LONGEST_SEC)) instanceof MonitorEvent.Activity event) {
        return event.json();
      }
    }
  }

  @Test
  void shouldFollowTheAddressesOfAName() throws Exception {
    final NameServer server = NameServer.start(outside, RESOLVER);
    node.keep(server);
    server.records(record("www.example.com", FIRST), record("other.example.com", SECOND));
    poll();
    client = node.workload(agent, "client", "app=client");
    assertReached(true, FIRST);
    allow("{\"matchName\": \"WWW.example.com\"}");
    awaitReached(true, FIRST);
    assertReached(false, SECOND);
    assertEquals(List.of("www.example.com."), fqdns(""));

    server.records(record("www.example.com", SECOND));
    awaitReached(true, SECOND);
    awaitReached(false, FIRST);
    assertReached(true, SECOND);

    awaitNotStored(FIRST);
    server.stop();
    agent.kill();
    assertReached(true, SECOND);
    poll("--tofqdns-enable-poller-events=false");
    assertReached(true, SECOND);
    assertReached(false, FIRST);
    awaitReached(false, SECOND);
    assertTrue(health().contains("looking up 1 of 1 names failed: www.example.com. "), health());
    assertEquals(List.of(), fqdns(""));

    server.records(record("www.example.com", FIRST));
    try (MonitorClient events = agentEvents()) {
      server.begin();
      awaitReached(true, FIRST);
      assertReached(false, SECOND);
      server.stop();
      allow("{\"matchName\": \"www.example.com\"}, {\"matchName\": \"later.example.com\"}");
      String json = nextActivity(events);
      while (!json.contains("\"policy\"")) {
        assertFalse(json.contains("\"dns\""), json);
        json = nextActivity(events);
      }
    }
    agent.expect(200, "DELETE", "/fqdn/cache?matchpattern=*.example.com", null);
    assertReached(false, FIRST);
  }

  @Test
  void shouldFollowAliasesAndTellWhatItLooksUp() throws Exception {
    final NameServer server = NameServer.start(outside, RESOLVER);
    node.keep(server);
    server.records(record("www.example.com", FIRST));
    poll();
    client = node.workload(agent, "client", "app=client");
    try (MonitorClient events = agentEvents()) {
      allow("{\"matchName\": \"alias.example.com\"}");
      String json = nextActivity(events);
      while (!json.contains("\"dns\"")) {
        json = nextActivity(events);
      }
      assertTrue(json.contains("\"fqdn\":\"alias.example.com.\""), json);
      assertTrue(json.contains("\"198.51.100.9\",\"2001:db8:51::9\""), json);
    }
    awaitReached(true, FIRST);
    assertReached(false, SECOND);
    final CtlProcess.Outcome listed =
        CtlProcess.run(directory, "fqdn", "cache", "list", "-H", "unix://" + agent.socket());
    assertTrue(listed.out().contains("alias.example.com."), listed.out() + listed.err());
  }

  /** The file is damaged after the agent has ended: what it had enforced is not enforced again. */
  @Test
  void shouldCloseWhereTheStoredNamesCannotBeRead() throws Exception {
    final Path file = preCache(List.of(entry("www.example.com", FIRST)));
    start("--tofqdns-pre-cache", file.toString());
    client = node.workload(agent, "client", "app=client");
    allow("{\"matchPattern\": \"*.example.com\"}");
    assertReached(true, FIRST);
    assertReached(false, SECOND);
    assertEquals(List.of("www.example.com."), fqdns("?cidr=198.51.100.0/24"));
    assertEquals(List.of("www.example.com."), fqdns("?matchpattern=w*.example.com"));
    agent.expect(404, "GET", "/fqdn/cache?cidr=192.0.2.0/24", null);
    agent.expect(404, "GET", "/fqdn/cache?matchpattern=example.com", null);
    agent.expect(400, "GET", "/fqdn/cache?matchpattern=a..b", null);
    agent.expect(404, "GET", "/fqdn/cache/" + client.id() + "?matchpattern=*", null);
    assertEquals(List.of(), fqdns("/" + client.id()));
    assertEquals(0, agent.terminate(), agent.log());

    final Path stored = node.state().resolve("names/cache.json");
    Files.writeString(stored, "damaged");
    start();
    assertReached(false, FIRST);
    final JsonNode status = agent.expect(200, "GET", "/healthz", null).json().get("agent");
    assertEquals("Failure", status.get("state").asString(), status.toString());
    assertTrue(status.get("msg").asString().contains(stored.toString()), status.toString());
    agent.expect(500, "GET", "/fqdn/cache", null);
    agent.expect(200, "DELETE", "/fqdn/cache", null);
    assertEquals(List.of(), fqdns(""));
    assertEquals(0, agent.terminate(), agent.log());
    start("--tofqdns-pre-cache", file.toString());
    assertReached(true, FIRST);
  }

  private static String entry(String name, List<String> addresses) {
    return "{\"fqdn\": \"%s\", \"ips\": [\"%s\"], \"ttl\": 60}"
        .formatted(name, String.join("\", \"", addresses));
  }

  private Path preCache(List<String> entries) throws Exception {
    final Path file = directory.resolve("names.json");
    Files.writeString(file, "[" + String.join(",\n", entries) + "]");
    return file;
  }

  @Test
  void shouldTakeARuleThatSelectsTenThousandNames(TestReporter reporter) throws Exception {
    final List<String> entries = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      final List<String> addresses = new ArrayList<>();
      for (int j = 0; j < 5; j++) {
        final int number = 5 * i + j;
        addresses.add("203.%d.%d.%d".formatted(number >> 16, number >> 8 & 0xff, number & 0xff));
      }
      entries.add(entry("n" + i + ".example.com", i == 77 ? FIRST : addresses));
    }
    final Path file = preCache(entries);
    start("--tofqdns-pre-cache", file.toString(), "--bpf-policy-map-max", "65536");
    client = node.workload(agent, "client", "app=client");
    final long start = System.nanoTime();
    allow("{\"matchPattern\": \"*.example.com\"}");
    final long importMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    reporter.publishEntry("import of a rule that selects 10,000 names, ms", "" + importMs);
    assertReached(true, FIRST);
    assertReached(false, SECOND);
    final JsonNode selectors = agent.expect(200, "GET", "/policy/selectors", null).json();
    assertEquals(2, selectors.get(0).get("identities").size(), "one for each family");
    final JsonNode identity =
        agent
            .expect(200, "GET", "/identity/" + selectors.get(0).get("identities").get(0), null)
            .json();
    assertTrue(identity.toString().contains("\"fqdn:*.example.com.\""), identity.toString());
  }
}
