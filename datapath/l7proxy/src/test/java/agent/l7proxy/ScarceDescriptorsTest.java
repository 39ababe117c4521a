package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A proxy on two event loops with twelve descriptors, of which four are kept for other clients. */
@Timeout(60)
class ScarceDescriptorsTest {
  private static final int MOST = 12;
  private static final int KEPT = 4;

  /** As in /proc/net/tcp, /proc/net/tcp6. */
  private static final String TIME_WAIT = "06";

  private static final String UPGRADE =
      "GET /tunnel HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

  private final List<HttpSocket> open = new ArrayList<>();
  private final CountDownLatch end = new CountDownLatch(1);
  private final AtomicInteger received = new AtomicInteger();
  private final OriginServer server = new OriginServer(this::serve);
  private final ProxyBench bench =
      new ProxyBench(server.port(), context -> context.descriptors(MOST));

  ScarceDescriptorsTest() throws IOException {
    bench.serverEndpoint = 9;
  }

  /** Answers each request with its path and body, those of /wait when they may end. */
  private void serve(HttpSocket connection) throws Exception {
    for (HttpSocket.Message request = connection.request();
        request != null;
        request = connection.request()) {
      received.incrementAndGet();
      final String path = request.start().split(" ")[1];
      if (path.startsWith("/wait")) {
        end.await();
      } else if (path.startsWith("/tunnel")) {
        connection.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
        for (int next = connection.in().read(); next >= 0; next = connection.in().read()) {
          connection.send(new byte[] {(byte) next});
        }
        return;
      }
      final String text = path + request.text();
      connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s".formatted(text.length(), text));
    }
  }

  /** Each test ends without a descriptor in use. */
  @AfterEach
  void stop() throws Exception {
    end.countDown();
    for (final HttpSocket client : open) {
      client.close();
    }
    await("all are closed", () -> bench.proxy.descriptors() == 0);
    assertEquals(0, bench.proxy.connections());
    await("all have left", () -> bench.left.size() == bench.joined.size());
    bench.close();
    server.close();
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private void await(String what, Condition condition) throws Exception {
    for (int i = 0; !condition.holds(); i++) {
      assertTrue(i < 2_000, () -> what + ": " + bench.proxy.descriptors() + " descriptors");
      TimeUnit.MILLISECONDS.sleep(5);
    }
  }

  private HttpSocket client(int endpoint) throws IOException {
    open.add(bench.client(endpoint));
    return open.getLast();
  }

  /** Connects a client that has had an answer. */
  private HttpSocket served(int endpoint) throws IOException {
    final HttpSocket client = client(endpoint);
    assertServes(client, "/" + open.size());
    return client;
  }

  private static void assertServes(HttpSocket client, String path) throws IOException {
    final HttpSocket.Message answer = client.get(path);
    assertEquals("HTTP/1.1 200 OK", answer.start());
    assertEquals(path, answer.text());
  }

  @Test
  void shouldCloseIdleConnectionsToServersAndOpenThemAgain() throws Exception {
    for (int i = 0; i < 8; i++) {
      served(7);
      assertTrue(bench.proxy.descriptors() <= MOST);
    }
    for (int i = 0; i < 160; i++) {
      assertServes(open.get(i % 8), "/again/" + i);
      assertTrue(bench.proxy.descriptors() <= MOST);
    }
    assertTrue(server.connections.get() > 100, () -> server.connections + " connections");
    assertTrue(waitingPorts() < 20, () -> "of " + server.connections + " connections");
    assertEquals(8, bench.proxy.connections());
    assertEquals(0, bench.proxy.closedIdleConnections());
    assertEquals(0, bench.proxy.refusedConnections());
  }

  /** Returns how many ports of closed connections to the server can not be used yet. */
  private long waitingPorts() throws IOException {
    try (Stream<String> ipv4 = Files.lines(Path.of("/proc/net/tcp"));
        Stream<String> ipv6 = Files.lines(Path.of("/proc/net/tcp6"))) {
      return Stream.concat(ipv4, ipv6)
          .map(line -> line.strip().split("\\s+"))
          .filter(part -> part[2].endsWith(":%04X".formatted(server.port())))
          .filter(part -> part[3].equals(TIME_WAIT))
          .count();
    }
  }

  @Test
  void shouldKeepConnectionsToServersWhileDescriptorsAreFree() throws Exception {
    for (int i = 0; i < 4; i++) {
      served(7);
    }
    for (int i = 0; i < 40; i++) {
      assertServes(open.get(i % 4), "/again/" + i);
    }
    assertEquals(4, server.connections.get());
    assertEquals(8, bench.proxy.descriptors());
  }

  @Test
  void shouldServeAnotherClientWhileAllOfOneAreIdle() throws Exception {
    for (int i = 0; i < 30; i++) {
      client(7); // nothing was sent yet
    }
    await("closed", () -> bench.proxy.closedIdleConnections() == 30 - (MOST - KEPT));
    assertTrue(open.getFirst().isEnded());
    for (int endpoint = 20; endpoint < 40; endpoint++) {
      served(endpoint);
    }
    assertServes(open.getLast(), "/again");
    assertEquals(0, bench.proxy.refusedConnections());
  }

  @Test
  void shouldServeAnotherClientWhileAllOfOneAreAtWork() throws Exception {
    for (int i = 0; i < 4; i++) {
      client(7).send("GET /wait/" + i + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
    }
    await("4 requests", () -> received.get() == 4);
    assertTrue(client(7).isEnded(), "it is refused");
    assertEquals(1, bench.proxy.refusedConnections());
    served(8);
    await("that of the refused one", () -> bench.proxy.descriptors() == MOST - 2);
    served(10);
    end.countDown();
    for (int i = 0; i < 4; i++) {
      assertEquals("/wait/" + i, open.get(i).response().text());
    }
    assertEquals(0, bench.proxy.closedIdleConnections());
    assertEquals(1, bench.proxy.refusedConnections());
  }

  @Test
  void shouldNotCloseTunnels() throws Exception {
    for (int i = 0; i < 4; i++) {
      assertEquals(101, client(7).send(UPGRADE).headOnly().status());
    }
    for (int i = 0; i < 30; i++) {
      client(8);
    }
    await("closed", () -> bench.proxy.closedIdleConnections() > 20);
    for (int i = 0; i < 4; i++) {
      final byte[] echo = open.get(i).send("x" + i).exactly(2);
      assertEquals("x" + i, new String(echo, StandardCharsets.US_ASCII));
    }
  }

  @Test
  void shouldAnswer503WhereAllAreAtWork() throws Exception {
    try (ProxyBench small = new ProxyBench(server.port(), context -> context.descriptors(3));
        HttpSocket first = small.client(7);
        HttpSocket second = small.client(8)) {
      first.send("GET /wait HTTP/1.1\r\nHost: a.test\r\n\r\n");
      await("1 request", () -> received.get() == 1 && small.proxy.descriptors() == 3);
      assertEquals(503, second.get("/a").status());
      assertEquals(1, small.proxy.refusedConnections());
      assertEquals(1, received.get());
      end.countDown();
      assertEquals("/wait", first.response().text());
      await("room", () -> second.get("/b").status() == 200);
      assertServes(second, "/c");
    }
  }

  @Test
  void shouldCloseHttp2OnlyWithoutStreams() throws Exception {
    try (Http2Server http2 = new Http2Server();
        ProxyBench small = new ProxyBench(http2.port(), context -> context.descriptors(MOST));
        Http2Client client = new Http2Client(small.proxy.firstPort())) {
      final CompletableFuture<Http2Client.Answer> later = client.get("/later");
      await("1 request", () -> http2.requests.size() == 1);
      for (int i = 0; i < 30; i++) {
        open.add(small.client(7)); // as the client of HTTP/2
      }
      await("closed", () -> small.proxy.closedIdleConnections() > 20);
      http2.answerLater();
      assertEquals("/later|", later.get().body());
      await("idle", () -> isClosedFor(small, http2, 0));
      assertEquals("/again|", client.get("/again").get().body());
      assertEquals(2, http2.connections.get(), "that to the server was closed");
      for (int i = 0; i < 30; i++) {
        open.add(small.client(7));
      }
      await("GOAWAY", () -> !client.channel.isActive());
      for (final HttpSocket each : open) {
        each.close();
      }
      await("all are closed", () -> small.proxy.descriptors() == 0);
    }
  }

  @Test
  void shouldCloseTheNextConnectionOfHttp2OnceItHasNoStreams() throws Exception {
    try (Http2Server http2 = new Http2Server();
        ProxyBench small = new ProxyBench(http2.port(), context -> context.descriptors(MOST));
        Http2Client client = new Http2Client(small.proxy.firstPort())) {
      final CompletableFuture<Http2Client.Answer> later = client.get("/later");
      await("1 request", () -> http2.requests.size() == 1);
      http2.goAway(0);
      await(
          "another connection",
          () -> {
            assertEquals("/x|", client.get("/x").get().body());
            return http2.connections.get() == 2;
          });
      await("idle", () -> isClosedFor(small, http2, 1));
      assertTrue(http2.accepted.getFirst().isActive(), "it has a stream");
      http2.answerLater();
      assertEquals("/later|", later.get().body());
    }
  }

  /** Connects one more, for which the idle connection to the server is closed. */
  private boolean isClosedFor(ProxyBench small, Http2Server http2, int connection)
      throws IOException {
    open.add(small.client(8));
    return !http2.accepted.get(connection).isActive();
  }

  /** What was written to a server is answered, whatever is closed at that moment. */
  @Test
  void shouldLoseNoRequest() throws Exception {
    final AtomicBoolean isEnd = new AtomicBoolean();
    final AtomicInteger answered = new AtomicInteger();
    final List<CompletableFuture<Void>> clients = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      served(7);
    }
    for (final HttpSocket client : open) {
      clients.add(
          CompletableFuture.runAsync(
              () -> ask(client, isEnd, answered), each -> Thread.ofPlatform().start(each)));
    }
    int others = 0;
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
    while (System.nanoTime() < endNs) {
      try (HttpSocket other = bench.client(8)) {
        assertServes(other, "/other");
        other.socket.setSoLinger(true, 0); // its port is free at once
        others++;
      }
      while (bench.proxy.connections() > 4 || bench.proxy.descriptors() > 8) {
        LockSupport.parkNanos(10_000); // that of the other one is not closed yet
      }
    }
    isEnd.set(true);
    for (final CompletableFuture<Void> client : clients) {
      client.get();
    }
    final int closed = server.connections.get() - 4 - others;
    assertTrue(closed > 20, closed + " connections to servers were closed");
    assertEquals(4 + answered.get() + others, received.get());
    assertEquals(0, bench.proxy.closedIdleConnections());
    assertEquals(0, bench.proxy.refusedConnections());
  }

  /** Asks what is not asked again where a connection is lost. */
  private static void ask(HttpSocket client, AtomicBoolean isEnd, AtomicInteger answered) {
    try {
      for (int i = 0; !isEnd.get(); i++) {
        final String body = "%08d".formatted(i);
        client.send("POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 8\r\n\r\n" + body);
        final HttpSocket.Message answer = client.response();
        assertEquals("HTTP/1.1 200 OK", answer.start());
        assertEquals("/x" + body, answer.text());
        answered.incrementAndGet();
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
