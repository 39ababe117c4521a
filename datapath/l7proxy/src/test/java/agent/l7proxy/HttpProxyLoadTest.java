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

/** Long bodies and many connections. */
class HttpProxyLoadTest {
  private static final long BODY_BYTES = 1L << 30;

  /** What sockets of loopback and the proxy may hold of a body that is not read. */
  private static final long MOST_HELD_BYTES = 64 << 20;

  private static final byte[] PART = new byte[1 << 20];

  /** The heap of this test is smaller than the body. */
  @Test
  void shouldHoldBackAnUploadThatTheServerDoesNotRead() throws Exception {
    final CountDownLatch reads = new CountDownLatch(1);
    final AtomicLong received = new AtomicLong();
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.head();
                  reads.await();
                  receive(connection, received);
                  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                });
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      final AtomicLong sent = new AtomicLong();
      client.send("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + BODY_BYTES + "\r\n\r\n");
      final Thread sender = Thread.ofVirtual().start(() -> pour(client, sent));
      awaitStall(sent);
      assertTrue(sent.get() < MOST_HELD_BYTES, "sent " + sent);
      reads.countDown();
      sender.join();
      assertEquals(200, client.response().status());
      assertEquals(BODY_BYTES, received.get());
    }
  }

  @Test
  void shouldHoldBackADownloadThatTheClientDoesNotRead() throws Exception {
    final AtomicLong sent = new AtomicLong();
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  connection.request();
                  connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + BODY_BYTES + "\r\n\r\n");
                  pour(connection, sent);
                });
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals(200, client.head().status());
      awaitStall(sent);
      assertTrue(sent.get() < MOST_HELD_BYTES, "sent " + sent);
      final AtomicLong received = new AtomicLong();
      receive(client, received);
      assertEquals(BODY_BYTES, received.get());
    }
  }

  private static void pour(HttpSocket connection, AtomicLong sent) {
    try {
      while (sent.get() < BODY_BYTES) {
        connection.send(PART);
        sent.addAndGet(PART.length);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void receive(HttpSocket connection, AtomicLong received) throws IOException {
    final byte[] buffer = new byte[1 << 16];
    while (received.get() < BODY_BYTES) {
      final int length = connection.in().read(buffer);
      if (length < 0) {
        return;
      }
      received.addAndGet(length);
    }
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
