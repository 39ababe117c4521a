package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** WebSocket and CONNECT over sockets. */
class TunnelHandlerTest {
  private static final String UPGRADE =
      "GET /ws HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  private static final String SWITCHING =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

  private static void echo(HttpSocket connection, String head) throws Exception {
    final HttpSocket.Message request = connection.request();
    connection.send(head);
    final byte[] buffer = new byte[8192];
    for (int length = connection.in().read(buffer);
        length >= 0;
        length = connection.in().read(buffer)) {
      connection.send(java.util.Arrays.copyOf(buffer, length));
    }
    connection.send("end of " + request.start());
  }

  @Test
  void shouldPassTheBytesOfAWebSocketBothWaysAndHalfClose() throws Exception {
    try (OriginServer server = new OriginServer(connection -> echo(connection, SWITCHING + "hi"));
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      final HttpSocket.Message head = client.send(UPGRADE + "early").response();
      assertEquals(101, head.status());
      assertEquals("websocket", head.field("upgrade"));
      assertEquals("hiearly", new String(client.exactly(7), StandardCharsets.US_ASCII));
      final byte[] bytes = new byte[3_000_000];
      new java.util.Random(1).nextBytes(bytes);
      Thread.ofVirtual().start(() -> sendAndEnd(client, bytes));
      org.junit.jupiter.api.Assertions.assertArrayEquals(bytes, client.exactly(bytes.length));
      assertEquals(
          "end of GET /ws HTTP/1.1",
          new String(client.in().readAllBytes(), StandardCharsets.US_ASCII));
      assertEquals(101, bench.record().status());
    }
  }

  @Test
  void shouldPassWhatTheClientSendsAfterTheServerHasEnded() throws Exception {
    final CompletableFuture<String> late = new CompletableFuture<>();
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.request();
                  connection.send(SWITCHING + "hi");
                  connection.socket.shutdownOutput();
                  late.complete(
                      new String(connection.in().readAllBytes(), StandardCharsets.US_ASCII));
                });
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      assertEquals(101, client.send(UPGRADE).response().status());
      assertEquals("hi", new String(client.in().readAllBytes(), StandardCharsets.US_ASCII));
      client.send("late");
      client.socket.shutdownOutput();
      assertEquals("late", late.get(20, TimeUnit.SECONDS));
    }
  }

  private static void sendAndEnd(HttpSocket client, byte[] bytes) {
    try {
      client.send(bytes);
      client.socket.shutdownOutput();
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A server that refuses the upgrade gets the next request as one, and policy is asked for it. */
  @Test
  void shouldJudgeWhatFollowsAnUpgradeThatWasRefused() throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      client.send(UPGRADE + "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals("GET /ws|", client.response().text());
      assertEquals("GET /next|", client.response().text());
      assertEquals(2, bench.judged.size());
    }
  }

  @Test
  void shouldRefuseASwitchThatWasNotAskedFor() throws Exception {
    try (OriginServer server = new OriginServer(connection -> echo(connection, SWITCHING));
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      assertEquals(502, client.get("/").status());
    }
  }

  @Test
  void shouldTunnelAfterConnect() throws Exception {
    try (OriginServer server =
            new OriginServer(connection -> echo(connection, "HTTP/1.1 200 Fine\r\n\r\n"));
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      client.send("CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n\u0016\u0003");
      assertEquals(200, client.headOnly().status());
      assertEquals("\u0016\u0003", new String(client.exactly(2), StandardCharsets.ISO_8859_1));
      assertEquals(java.util.List.of("CONNECT b.test b.test:443"), bench.judged);
    }
  }

  /** Where the machine is too busy for the upgrade, a longer time shows the same. */
  @Test
  void shouldCloseATunnelWithoutTraffic() throws Exception {
    int status = 504;
    for (int idleMs = 100; status == 504 && idleMs <= 10_000; idleMs *= 10) {
      status = statusBeforeTheTunnelIsClosed(idleMs);
    }
    assertEquals(101, status);
  }

  private static int statusBeforeTheTunnelIsClosed(int idleMs) throws Exception {
    try (OriginServer server = new OriginServer(connection -> echo(connection, SWITCHING));
        ProxyBench bench =
            new ProxyBench(
                server.port(), context -> context.idleTimeout(Duration.ofMillis(idleMs)));
        HttpSocket client = bench.client()) {
      final int status = client.send(UPGRADE).response().status();
      assertTrue(client.isEnded());
      return status;
    }
  }

  /** A tunnel in memory; the server has got the head, and its answer has been taken. */
  private static EmbeddedSocket tunnel(ExchangeBench bench) {
    final EmbeddedSocket server = bench.server();
    bench.client.receive(UPGRADE);
    server.receive(SWITCHING);
    assertTrue(server.sent().startsWith("GET /ws"));
    assertTrue(bench.client.sent().startsWith("HTTP/1.1 101"));
    server.newReads();
    bench.client.newReads();
    return server;
  }

  @Test
  void shouldReadOneEndAsLongAsTheOtherTakesIt() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = tunnel(bench);
    bench.client.receive("a");
    assertEquals("a", server.sent());
    assertEquals(1, bench.client.newReads());
    server.takesMore(false);
    bench.client.receive("b");
    assertEquals(0, bench.client.newReads());
    server.takesMore(true);
    assertEquals(1, bench.client.newReads());
    bench.client.takesMore(false);
    assertEquals(0, server.newReads());
    server.receive("c");
    assertEquals(0, server.newReads());
    bench.client.takesMore(true);
    assertEquals(1, server.newReads());
    assertEquals("c", bench.client.sent());
  }

  @Test
  void shouldReadBothEndsOnceItIsThere() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(UPGRADE);
    bench.client.newReads();
    server.newReads();
    server.receive(SWITCHING);
    assertTrue(bench.client.newReads() > 0);
    assertTrue(server.newReads() > 0);
  }

  @Test
  void shouldEndAHalfAtATimeAndCloseAfterBoth() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = tunnel(bench);
    bench.client.pipeline().fireUserEventTriggered("another event");
    assertFalse(server.isOutputShutdown());
    bench.client.receiveEnd();
    assertTrue(server.isOutputShutdown());
    assertTrue(server.isOpen());
    server.receive("late");
    assertEquals("late", bench.client.sent());
    server.receiveEnd();
    assertFalse(server.isOpen());
    assertFalse(bench.client.isOpen());
  }

  @Test
  void shouldCloseTheOtherEndOfOneThatIsClosedOrFails() {
    for (final boolean isClient : new boolean[] {true, false}) {
      for (final boolean isFailure : new boolean[] {true, false}) {
        final ExchangeBench bench = new ExchangeBench();
        final EmbeddedSocket server = tunnel(bench);
        final EmbeddedSocket end = isClient ? bench.client : server;
        if (isFailure) {
          end.pipeline().fireExceptionCaught(new java.io.IOException("reset"));
        } else {
          end.close();
        }
        end.runPendingTasks();
        server.runPendingTasks();
        bench.client.runPendingTasks();
        assertFalse(server.isOpen());
        assertFalse(bench.client.isOpen());
      }
    }
  }

  @Test
  void shouldCloseWhereNeitherEndHasSentForTheIdleTime() {
    final ExchangeBench bench =
        new ExchangeBench(context -> context.idleTimeout(Duration.ofMillis(100)));
    final EmbeddedSocket server = tunnel(bench);
    bench.client.pass(90);
    bench.client.receive("a");
    bench.client.pass(90);
    server.receive("b");
    bench.client.pass(99);
    assertTrue(bench.client.isOpen());
    bench.client.pass(1);
    assertFalse(bench.client.isOpen());
    assertFalse(server.isOpen());
  }

  @Test
  void shouldNotWatchATunnelWithoutIdleTimeNorOneThatIsClosed() {
    final ExchangeBench bench = new ExchangeBench();
    tunnel(bench);
    bench.client.pass(1_000_000);
    assertTrue(bench.client.isOpen());
    final ExchangeBench closed =
        new ExchangeBench(context -> context.idleTimeout(Duration.ofMillis(100)));
    tunnel(closed);
    closed.client.pass(50);
    closed.client.receive("a");
    closed.client.close();
    closed.client.pass(50);
    assertEquals(-1, closed.client.runScheduledPendingTasks(), "nothing is scheduled");
  }
}
