package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Long bodies and many connections. */
class HttpProxyLoadTest {
  private static final long BODY_BYTES = 1L << 30;
  private static final long HTTP2_BODY_BYTES = 1L << 28;

  /** What sockets of loopback and the proxy may hold of a body that is not read. */
  private static final long MOST_HELD_BYTES = 64 << 20;

  private static final byte[] PART = new byte[1 << 20];

  /** What the buffers of the proxy may hold of it, whichever end does not read. */
  private static final long MOST_BUFFER_BYTES = 8 << 20;

  /** The framing of a body of HTTP/1. */
  private enum Framing {
    LENGTH("Content-Length: " + BODY_BYTES),
    CHUNKS("Transfer-Encoding: chunked");

    private final String field;

    Framing(String field) {
      this.field = field;
    }

    /** Sends the body, one part after the other. */
    void pour(HttpSocket connection, AtomicLong sent) {
      try {
        while (sent.get() < BODY_BYTES) {
          if (this == CHUNKS) {
            connection.send(Integer.toHexString(PART.length) + "\r\n");
          }
          connection.send(PART);
          if (this == CHUNKS) {
            connection.send("\r\n");
          }
          sent.addAndGet(PART.length);
        }
        if (this == CHUNKS) {
          connection.send("0\r\n\r\n");
        }
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    /** Reads the body, and counts its bytes. */
    void receive(HttpSocket connection, AtomicLong received) throws IOException {
      final byte[] buffer = new byte[1 << 16];
      while (this == LENGTH && received.get() < BODY_BYTES) {
        received.addAndGet(readSome(connection, buffer, buffer.length));
      }
      while (this == CHUNKS) {
        final int size = Integer.parseInt(connection.line(), 16);
        for (int left = size; left > 0; ) {
          final int length = readSome(connection, buffer, Math.min(left, buffer.length));
          left -= length;
          received.addAndGet(length);
        }
        connection.line();
        if (size == 0) {
          return;
        }
      }
    }

    private static int readSome(HttpSocket connection, byte[] buffer, int most) throws IOException {
      final int length = connection.in().read(buffer, 0, most);
      if (length < 0) {
        throw new IOException("the body has ended too early");
      }
      return length;
    }
  }

  /** The heap of this test is smaller than the body. */
  @ParameterizedTest
  @EnumSource(Framing.class)
  void shouldHoldBackAnUploadThatTheServerDoesNotRead(Framing framing) throws Exception {
    final CountDownLatch reads = new CountDownLatch(1);
    final AtomicLong received = new AtomicLong();
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.head();
                  reads.await();
                  framing.receive(connection, received);
                  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                });
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      final AtomicLong sent = new AtomicLong();
      client.send("PUT / HTTP/1.1\r\nHost: a.test\r\n" + framing.field + "\r\n\r\n");
      final Thread sender = Thread.ofVirtual().start(() -> framing.pour(client, sent));
      awaitStall(sent);
      assertTrue(sent.get() < MOST_HELD_BYTES, "sent " + sent);
      assertHoldsLittle(bench);
      reads.countDown();
      sender.join();
      assertEquals(200, client.response().status());
      assertEquals(BODY_BYTES, received.get());
      awaitLittleHeld(bench);
    }
  }

  @ParameterizedTest
  @EnumSource(Framing.class)
  void shouldHoldBackADownloadThatTheClientDoesNotRead(Framing framing) throws Exception {
    final AtomicLong sent = new AtomicLong();
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.request();
                  connection.send("HTTP/1.1 200 OK\r\n" + framing.field + "\r\n\r\n");
                  framing.pour(connection, sent);
                });
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals(200, client.head().status());
      awaitStall(sent);
      assertTrue(sent.get() < MOST_HELD_BYTES, "sent " + sent);
      assertHoldsLittle(bench);
      final AtomicLong received = new AtomicLong();
      framing.receive(client, received);
      assertEquals(BODY_BYTES, received.get());
      awaitLittleHeld(bench);
    }
  }

  /** The window of a connection of HTTP/2 is what may be on its way in either direction. */
  @Test
  void shouldHoldBackBodiesOfHttp2() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench = new ProxyBench(server.port());
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      final Http2Client.Stalled download = client.stalled("/size/" + HTTP2_BODY_BYTES);
      final AtomicLong poured = server.poured;
      awaitStall(poured);
      assertTrue(poured.get() < MOST_HELD_BYTES, "sent " + poured);
      assertHoldsLittle(bench);
      download.resume();
      assertEquals(HTTP2_BODY_BYTES, download.answer().get(5, TimeUnit.MINUTES).length());
      server.reads = false;
      final Http2Client.Upload upload = client.upload("/count", HTTP2_BODY_BYTES);
      awaitStall(upload.sent());
      assertTrue(upload.sent().get() < MOST_HELD_BYTES, "sent " + upload.sent());
      assertHoldsLittle(bench);
      server.resume();
      assertEquals(
          Long.toString(HTTP2_BODY_BYTES), upload.answer().get(5, TimeUnit.MINUTES).body());
      awaitLittleHeld(bench);
    }
  }

  private static void assertHoldsLittle(ProxyBench bench) {
    final long bytes = bench.proxy.bufferBytes();
    assertTrue(bytes < MOST_BUFFER_BYTES, bytes + " bytes in buffers");
  }

  /** What was on its way when the last byte came is given back soon. */
  private static void awaitLittleHeld(ProxyBench bench) throws InterruptedException {
    for (int i = 0; i < 100 && bench.proxy.bufferBytes() >= MOST_BUFFER_BYTES; i++) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
    assertHoldsLittle(bench);
  }

  /** Waits until a second passes without progress, or too much is sent. */
  private static void awaitStall(AtomicLong sent) throws InterruptedException {
    long last = -1;
    while (last != sent.get() && sent.get() < MOST_HELD_BYTES || last <= 0) {
      last = sent.get();
      TimeUnit.SECONDS.sleep(1);
    }
  }

  @Test
  void shouldServeTwoThousandConnectionsAtOnce() throws Exception {
    final int count = 2_000;
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port())) {
      final List<HttpSocket> clients = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        clients.add(bench.client());
      }
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++) {
          clients.get(i).send("GET /" + i + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
        }
        for (int i = 0; i < count; i++) {
          assertEquals("GET /" + i + "|", clients.get(i).response().text());
        }
      }
      assertEquals(count, server.connections.get());
      for (final HttpSocket client : clients) {
        client.close();
      }
    }
  }
}
