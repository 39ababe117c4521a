package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
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

  @Test
  void shouldCloseATunnelWithoutTraffic() throws Exception {
    try (OriginServer server = new OriginServer(connection -> echo(connection, SWITCHING));
        ProxyBench bench =
            new ProxyBench(server.port(), context -> context.idleTimeout(Duration.ofMillis(100)));
        HttpSocket client = bench.client()) {
      assertEquals(101, client.send(UPGRADE).response().status());
      assertTrue(client.isEnded());
    }
  }
}
