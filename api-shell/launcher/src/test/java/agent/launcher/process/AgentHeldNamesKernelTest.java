package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpConnection.Outcome;
import agent.testkit.TcpEchoServer;
import agent.testkit.VethPair;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Addresses that a name has no longer by its answers: connections to them go on, and they are gone
 * with these; and the names of endpoints that are removed.
 */
@KernelTest
class AgentHeldNamesKernelTest {
  private static final int PORT = 8080;
  private static final int HTTP_PORT = 8088;
  private static final String RESOLVER = "198.51.100.53";
  private static final List<String> FIRST = List.of("198.51.100.9", "2001:db8:51::9");
  private static final List<String> SECOND = List.of("198.51.100.10", "2001:db8:51::10");
  private static final int SWEEP_SEC = 1;
  private static final long LONGEST_SEC = 60;

  private TestNode node;
  private NetworkNamespace outside;
  private AgentProcess agent;
  private TestWorkload client;
  private NameServer server;
  private int leastTtlSec = 4;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    outside = NetworkNamespace.create("outside");
    node.keep(outside);
    VethPair.create(node.namespace(), "ext0", outside, "eth0");
    node.namespace()
        .ip(
            "address add 198.51.100.1/24 dev ext0",
            "address add 2001:db8:51::1/64 dev ext0 nodad",
            "address add fe80::1/64 dev ext0 nodad");
    for (final String address : Stream.concat(FIRST.stream(), SECOND.stream()).toList()) {
      final String length = address.indexOf(':') < 0 ? "/24" : "/64 nodad";
      outside.ip("address add " + address + length + " dev eth0");
    }
    outside.ip(
        "address add " + RESOLVER + "/24 dev eth0",
        "route add 10.210.0.0/24 via 198.51.100.1",
        "route add fd00:210::/96 via 2001:db8:51::1");
    server = NameServer.start(outside, RESOLVER);
    node.keep(server);
    node.keep(TcpEchoServer.start(outside, PORT));
    launch();
    client = node.workload(agent, "client", "app=client");
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
          {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "ANY"}],
            "rules": {"dns": [{"matchPattern": "*"}]}}]},
          {"toFQDNs": [{"matchPattern": "*.example.com"}], "toPorts": [
            {"ports": [{"port": "%d", "protocol": "TCP"}]},
            {"ports": [{"port": "%d", "protocol": "TCP"}],
             "rules": {"http": [{"method": "GET"}]}}]}]}]
        """
            .formatted(RESOLVER, PORT, HTTP_PORT));
  }

  private void launch() throws Exception {
    agent =
        node.launch(
                "--device=ext0",
                "--tofqdns-min-ttl=" + leastTtlSec,
                "--conntrack-garbage-collector-interval=" + SWEEP_SEC)
            .ready();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void records(String name, List<String> addresses) throws Exception {
    server.records(addresses.stream().map(address -> address + " " + name).toArray(String[]::new));
  }

  /** Asks for a name until the answer is this one: the server reads its records at times. */
  private void lookUp(TestWorkload from, String name, List<String> addresses) throws Exception {
    for (final String address : addresses) {
      final String type = address.indexOf(':') < 0 ? "A" : "AAAA";
      await(() -> dig(from, name, type).equals(address), () -> dig(from, name, type));
    }
  }

  private static String dig(TestWorkload from, String name, String type) {
    return from.namespace()
        .attempt("dig", "@" + RESOLVER, "+short", "+tries=2", "+time=3", name, type)
        .output()
        .strip();
  }

  /** A condition of real traffic or of the API. */
  @FunctionalInterface
  private interface Condition {
    boolean holds() throws Exception;
  }

  /** What is shown where a condition does not come true. */
  @FunctionalInterface
  private interface Shown {
    String text() throws Exception;
  }

  private void await(Condition condition, Shown shown) throws Exception {
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError(shown.text() + "\n" + agent.log());
      }
      Thread.sleep(100);
    }
  }

  private boolean isReached(String address) {
    return TcpConnection.attempt(client.namespace(), address, PORT, 400) == Outcome.CONNECTED;
  }

  /** Returns the sources of the lookups that have an address. */
  private List<String> sources(String address) throws Exception {
    final List<String> sources = new ArrayList<>();
    for (final JsonNode lookup : agent.expect(200, "GET", "/fqdn/cache", null).json()) {
      if (lookup.get("ips").toString().contains('"' + address + '"')) {
        sources.add(lookup.get("source").asString());
      }
    }
    return sources;
  }

  private String names() throws Exception {
    return agent.call("GET", "/fqdn/cache", null).text();
  }

  private void awaitSources(String address, String... sources) throws Exception {
    await(() -> sources(address).equals(List.of(sources)), this::names);
  }

  private void awaitGone(String address) throws Exception {
    awaitSources(address);
    await(() -> !isReached(address), this::names);
  }

  /** Waits for some rounds of sweeps. */
  private static void sweeps() throws InterruptedException {
    Thread.sleep(TimeUnit.SECONDS.toMillis(3 * SWEEP_SEC));
  }

  @Test
  void shouldKeepAnAddressForItsConnectionsAlone() throws Exception {
    records("www.example.com", FIRST);
    lookUp(client, "www.example.com", FIRST);
    try (TcpConnection four = TcpConnection.open(client.namespace(), FIRST.getFirst(), PORT)) {
      try (TcpConnection six = TcpConnection.open(client.namespace(), FIRST.getLast(), PORT)) {
        records("www.example.com", SECOND);
        lookUp(client, "www.example.com", SECOND);
        for (final String address : FIRST) {
          awaitSources(address, "connection");
        }
        for (final String address : SECOND) {
          awaitGone(address);
        }
        assertTrue(four.exchangesMore(20, 5000), agent.log());
        assertTrue(six.exchangesMore(20, 5000), agent.log());
      }
      awaitGone(FIRST.getLast());

      agent.kill();
      assertTrue(four.exchangesMore(20, 5000));
      launch();
      assertEquals(List.of("connection"), sources(FIRST.getFirst()));
      sweeps();
      assertEquals(List.of("connection"), sources(FIRST.getFirst()));
      assertTrue(four.exchangesMore(20, 5000), agent.log());
    }
    awaitGone(FIRST.getFirst());
  }

  /** The datapath has a flow of the client and the proxy; the server's is behind it. */
  @Test
  void shouldKeepTheAddressOfAServerBehindTheProxy() throws Exception {
    final String address = FIRST.getFirst();
    try (HttpOrigin origin = HttpOrigin.start(outside, HTTP_PORT)) {
      records("www.example.com", FIRST);
      lookUp(client, "www.example.com", FIRST);
      try (Socket socket = connect(address)) {
        socket.setSoTimeout(8000);
        assertEquals(200, request(socket));
        awaitSources(address, "connection");
        sweeps();
        assertEquals(List.of("connection"), sources(address));
        assertEquals(200, request(socket));
        assertEquals(List.of(), sources(FIRST.getLast()));
      }
      awaitGone(address);
      assertEquals(2, origin.requests().size());
    }
  }

  private Socket connect(String address) throws Exception {
    return client
        .namespace()
        .run(
            () -> {
              final Socket socket = new Socket();
              socket.connect(new InetSocketAddress(address, HTTP_PORT), 5000);
              return socket;
            });
  }

  private static int request(Socket socket) throws IOException {
    socket
        .getOutputStream()
        .write("GET / HTTP/1.1\r\nHost: www\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
    final InputStream in = socket.getInputStream();
    final StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      final int octet = in.read();
      assertTrue(octet >= 0, () -> "the connection ended: " + head);
      head.append((char) octet);
    }
    final String lower = head.toString().toLowerCase(Locale.ROOT);
    final int at = lower.indexOf("content-length:");
    assertTrue(at >= 0, lower);
    in.readNBytes(Integer.parseInt(lower.substring(at + 15, lower.indexOf('\r', at)).strip()));
    return Integer.parseInt(head.substring(9, 12));
  }

  @Test
  void shouldForgetWhatARemovedEndpointLookedUpButForTheConnectionsOfOthers() throws Exception {
    agent.terminate();
    leastTtlSec = 3600;
    launch();
    final TestWorkload removed = node.workload(agent, "removed", "app=client");
    records("www.example.com", List.of(FIRST.getFirst(), SECOND.getFirst()));
    await(
        () -> dig(removed, "www.example.com", "A").lines().count() == 2,
        () -> dig(removed, "www.example.com", "A"));
    records("both.example.com", List.of(FIRST.getLast()));
    lookUp(removed, "both.example.com", List.of(FIRST.getLast()));
    lookUp(client, "both.example.com", List.of(FIRST.getLast()));
    try (TcpConnection open = TcpConnection.open(client.namespace(), FIRST.getFirst(), PORT)) {
      assertTrue(isReached(SECOND.getFirst()));
      agent.expect(200, "DELETE", "/endpoint/" + removed.id(), null);
      awaitGone(SECOND.getFirst());
      assertEquals(List.of("connection"), sources(FIRST.getFirst()));
      assertEquals(List.of("lookup"), sources(FIRST.getLast()), "of the other endpoint");
      assertTrue(open.exchangesMore(20, 5000), agent.log());
      // What is forgotten is stored by a thread of its own.
      await(
          () -> !StateFiles.storedNames(node).contains('"' + SECOND.getFirst() + '"'),
          () -> StateFiles.storedNames(node));
      agent.kill();
      launch();
      assertEquals(List.of(), sources(SECOND.getFirst()));
      assertEquals(List.of("connection"), sources(FIRST.getFirst()));
      sweeps();
      assertTrue(open.exchangesMore(20, 5000), agent.log());
    }
    awaitGone(FIRST.getFirst());
    assertTrue(isReached(FIRST.getLast()), names());
  }

  /** An agent that is killed between the two removals leaves the lookups of the endpoint. */
  @Test
  void shouldForgetAtTheStartWhatAnEndpointLookedUpThatIsNoMore() throws Exception {
    agent.terminate();
    leastTtlSec = 3600;
    launch();
    final TestWorkload lost = node.workload(agent, "lost", "app=client");
    records("lost.example.com", FIRST);
    lookUp(lost, "lost.example.com", FIRST);
    records("kept.example.com", SECOND);
    lookUp(client, "kept.example.com", SECOND);
    agent.kill();
    Files.delete(node.state().resolve("endpoints/" + lost.id() + ".json"));
    Files.delete(node.state().resolve("written/endpoints." + lost.id()));
    launch();
    for (final String address : FIRST) {
      awaitGone(address);
    }
    for (final String address : SECOND) {
      assertEquals(List.of("lookup"), sources(address), names());
      assertTrue(isReached(address), names());
    }
  }
}
