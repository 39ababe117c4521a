package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.Http2Client.Answer;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the options of time limits and of retries do; what has none is not ended. */
class ProxyTimeoutsTest {
  /** A listener whose queue is full does not answer: each attempt ends by its time limit. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void shouldEndEachAttemptToConnectByItsTimeLimit(int retries) throws Exception {
    final List<Socket> queued = new ArrayList<>();
    try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        ProxyBench bench =
            new ProxyBench(
                full.getLocalPort(),
                context -> context.connectTimeout(Duration.ofMillis(150)).retries(retries))) {
      fill(full, queued);
      bench.serverEndpoint = 9;
      final long beginNs = System.nanoTime();
      try (HttpSocket client = bench.client()) {
        assertEquals(503, client.get("/").status());
        final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beginNs);
        assertTrue(tookMs >= 150L * (retries + 1), tookMs + " ms");
        assertTrue(retries < 3 || tookMs < 3_500, tookMs + " ms");
        assertEquals(retries + 1, bench.joined.size());
        assertEquals(503, bench.record().status());
      }
    } finally {
      for (final Socket socket : queued) {
        socket.close();
      }
    }
  }

  private static void fill(ServerSocket listener, List<Socket> queued) throws IOException {
    while (true) {
      final Socket socket = new Socket();
      queued.add(socket);
      try {
        socket.connect(new InetSocketAddress("127.0.0.1", listener.getLocalPort()), 300);
      } catch (SocketTimeoutException full) {
        return;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 5})
  void shouldRepeatAsOftenAsTheOptionSays(int retries) throws Exception {
    try (OriginServer closing = new OriginServer(HttpSocket::request);
        ProxyBench bench = new ProxyBench(closing.port(), context -> context.retries(retries));
        HttpSocket client = bench.client()) {
      assertEquals(503, client.get("/").status());
      assertEquals(retries + 1, closing.connections.get());
    }
  }

  @Test
  void shouldNotEndAStreamWithTraffic() throws Exception {
    final String part = "1\r\nx\r\n";
    try (OriginServer server =
            new OriginServer(
                connection -> {
                  assertEquals("xxxxxx", connection.request().text());
                  connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                  sendSlowly(connection, part);
                });
        ProxyBench bench =
            new ProxyBench(server.port(), context -> context.idleTimeout(Duration.ofMillis(2000)));
        HttpSocket client = bench.client()) {
      client.send("PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
      sendSlowly(client, part);
      assertEquals("xxxxxx", client.response().text());
    }
  }

  private static void sendSlowly(HttpSocket connection, String part) throws Exception {
    for (int i = 0; i < 6; i++) {
      connection.send(part);
      TimeUnit.MILLISECONDS.sleep(400);
    }
    connection.send("0\r\n\r\n");
  }

  private static Http2Headers grpc(String timeout) {
    final Http2Headers head =
        Http2Client.head("POST", "/never").set("content-type", "application/grpc");
    return timeout == null ? head : head.set("grpc-timeout", timeout);
  }

  private static String grpcStatus(CompletableFuture<Answer> answer) {
    return answer.join().heads().getLast().get("grpc-status").toString();
  }

  @Test
  void shouldLimitGrpcAloneByItsOwnOption() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench =
            new ProxyBench(
                server.port(),
                context ->
                    context.requestTimeout(Duration.ZERO).grpcTimeout(Duration.ofMillis(100)));
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      final CompletableFuture<Answer> other = client.get("/never");
      assertEquals("4", grpcStatus(client.send(grpc(null), "x", null)));
      assertEquals("4", grpcStatus(client.send(grpc("10S"), "x", null)));
      assertEquals("4", grpcStatus(client.send(grpc("not a time"), "x", null)));
      assertFalse(other.isDone(), "it is not gRPC");
    }
  }

  /** A {@code grpc-timeout} overrides the option only if it is shorter. */
  @Test
  void shouldTakeTheShorterTimeOfTheClient() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench =
            new ProxyBench(server.port(), context -> context.grpcTimeout(Duration.ofMinutes(10)));
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      assertEquals("4", grpcStatus(client.send(grpc("100m"), "x", null)));
    }
  }

  @Test
  void shouldNotEndGrpcWithoutTraffic() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench =
            new ProxyBench(server.port(), context -> context.idleTimeout(Duration.ofMillis(100)));
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      final CompletableFuture<Answer> call = client.send(grpc(null), "x", null);
      for (int i = 0; i < 3; i++) {
        assertEquals(504, client.get("/never").join().status());
      }
      assertFalse(call.isDone(), "gRPC has no such limit");
    }
  }
}
