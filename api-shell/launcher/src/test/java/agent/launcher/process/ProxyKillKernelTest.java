package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TcpConnection;
import agent.testkit.TcpEchoServer;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Type;

/**
 * SIGKILL of the agent while requests, questions and a connection without rules of requests run:
 * what the proxies had ends, what is new waits for the next run, and nothing passes unjudged.
 */
@KernelTest
class ProxyKillKernelTest {
  private static final int PORT = 8080;
  private static final int OPEN_PORT = 9090;
  private static final int ROUNDS = 3;
  private static final long LONGEST_SEC = 90;
  private static final String NAME_SERVER = WorldNetwork.ADDRESSES.getFirst();

  private final AtomicLong refused = new AtomicLong();
  private final AtomicLong resolved = new AtomicLong();
  private TestNode node;
  private AgentProcess agent;
  private TestWorkload client;
  private TestWorkload server;
  private TestWorkload other;
  private HttpOrigin origin;
  private List<Future<Void>> clients = List.of();
  private volatile boolean isOver;

  @BeforeEach
  void start() throws Exception {
    node = new TestNode();
    final NetworkNamespace world = WorldNetwork.connect(node);
    launch();
    client = node.workload(agent, "client", "app=client");
    server = node.workload(agent, "server", "app=server");
    other = node.workload(agent, "other", "app=other");
    origin = HttpOrigin.start(server.namespace(), PORT);
    node.keep(origin);
    final NameServer names = NameServer.start(world, NAME_SERVER);
    node.keep(names);
    names.records("198.51.100.1 www.example.com");
    apply();
  }

  private void launch() throws Exception {
    agent = node.agent("--device=" + WorldNetwork.DEVICE);
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  private void apply() throws Exception {
    agent.expect(
        200,
        "PUT",
        "/policy",
        """
        [{"endpointSelector": {"matchLabels": {"app": "server"}}, "ingress": [{"toPorts": [
           {"ports": [{"port": "%d", "protocol": "TCP"}],
            "rules": {"http": [{"method": "GET", "path": "/public"}]}}]}]},
         {"endpointSelector": {"matchLabels": {"app": "client"}}, "egress": [
           {"toEndpoints": [{"matchLabels": {}}]},
           {"toCIDR": ["%s/32"], "toPorts": [{"ports": [{"port": "53", "protocol": "UDP"}],
            "rules": {"dns": [{"matchName": "www.example.com"}]}}]}]}]
        """
            .formatted(PORT, NAME_SERVER));
  }

  /** A request of a connection of its own, which is opened as often as SYN is sent again. */
  private int ask(String address, String request) throws Exception {
    try (KeptConnection connection = KeptConnection.open(client.namespace(), address, PORT)) {
      return connection.request(request);
    }
  }

  /** Asks for what is denied all the time. */
  private Void askDenied() throws Exception {
    while (!isOver) {
      for (final String address : List.of(server.ipv4(), server.ipv6())) {
        try (KeptConnection connection = KeptConnection.open(client.namespace(), address, PORT)) {
          for (int i = 0; i < 20 && !isOver; i++) {
            assertEquals(403, connection.request("GET /secret"));
            refused.incrementAndGet();
          }
        } catch (IOException ended) {
          Thread.sleep(1); // by the kill
        }
      }
    }
    return null;
  }

  private Void askNames() throws Exception {
    final byte[] question =
        Message.newQuery(Record.newRecord(Name.fromString("www.example.com."), Type.A, DClass.IN))
            .toWire();
    while (!isOver) {
      try (DatagramSocket socket = client.namespace().run(() -> new DatagramSocket())) {
        socket.setSoTimeout(500);
        socket.connect(InetAddress.getByName(NAME_SERVER), 53);
        socket.send(new DatagramPacket(question, question.length));
        final DatagramPacket packet = new DatagramPacket(new byte[512], 512);
        socket.receive(packet);
        assertEquals(Rcode.NOERROR, new Message(packet.getData()).getRcode());
        resolved.incrementAndGet();
      } catch (IOException unanswered) {
        Thread.sleep(1); // while there is no agent
      }
    }
    return null;
  }

  private Void load() {
    final String url = "http://" + server.ipv4() + ":" + PORT + "/public";
    while (!isOver) {
      client.namespace().attempt("wrk", "-t1", "-c8", "-d2s", url);
    }
    return null;
  }

  private void awaitMore(String what, LongSupplier count) throws Exception {
    final long before = count.getAsLong();
    final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SEC);
    while (count.getAsLong() < before + 20) {
      for (final Future<Void> each : clients) {
        if (each.isDone()) {
          each.get(); // fails with what has ended it
        }
      }
      assertTrue(
          System.nanoTime() < deadline, what + ": " + count.getAsLong() + "\n" + agent.log());
      Thread.sleep(10);
    }
  }

  private void awaitTraffic() throws Exception {
    awaitMore("denied requests", refused::get);
    awaitMore("questions", resolved::get);
    awaitMore("allowed requests", () -> origin.count("GET /public"));
  }

  @Test
  @Timeout(value = 20, unit = TimeUnit.MINUTES)
  void shouldEndOnlyWhatWasProxiedAndJudgeAllThatIsNew() throws Exception {
    try (TcpEchoServer echo = TcpEchoServer.start(other.namespace(), OPEN_PORT);
        TcpConnection open = TcpConnection.open(client.namespace(), other.ipv4(), OPEN_PORT);
        ExecutorService threads = Executors.newCachedThreadPool()) {
      clients =
          List.<Callable<Void>>of(this::askDenied, this::askNames, this::load).stream()
              .map(threads::submit)
              .toList();
      try {
        for (int round = 1; round <= ROUNDS; round++) {
          awaitTraffic();
          killAndStart(threads, open);
        }
        awaitTraffic();
      } finally {
        isOver = true;
      }
      for (final Future<Void> each : clients) {
        each.get(LONGEST_SEC, TimeUnit.SECONDS);
      }
      assertNull(open.failure());
      assertEquals(1, echo.connections());
    }
    assertEquals(0, origin.count("GET /secret"));
    assertEquals(java.util.Set.of("GET /public"), origin.different());
  }

  private void killAndStart(ExecutorService threads, TcpConnection open) throws Exception {
    try (KeptConnection proxied = KeptConnection.open(client.namespace(), server.ipv6(), PORT)) {
      assertEquals(200, proxied.request("GET /public"));
      agent.kill();
      assertTrue(open.exchangesMore(100, 20_000), () -> "no agent: " + open.failure());
      assertThrows(IOException.class, () -> proxied.request("GET /public"));
    }
    final List<Future<Integer>> waiting =
        List.of(
            threads.submit(() -> ask(server.ipv4(), "GET /public")),
            threads.submit(() -> ask(server.ipv6(), "GET /public")));
    assertTrue(open.exchangesMore(100, 20_000), () -> "no agent: " + open.failure());
    waiting.forEach(each -> assertTrue(!each.isDone(), "it waits for the agent"));
    launch();
    for (final Future<Integer> each : waiting) {
      assertEquals(200, each.get(LONGEST_SEC, TimeUnit.SECONDS));
    }
    assertTrue(open.exchangesMore(100, 20_000), () -> "new agent: " + open.failure());
  }
}
