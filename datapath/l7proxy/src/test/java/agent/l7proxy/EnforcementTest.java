package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.Http2Client.Answer;
import agent.policy.request.HttpVerdict;
import agent.policy.request.HttpVerdict.HeaderChange;
import io.netty.handler.codec.http2.Http2Error;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is open when a policy changes: both directions of it end before the change is answered. */
@Timeout(60)
class EnforcementTest {
  private static final String UPGRADE =
      "GET /ws HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  private static final String SWITCHING =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
  private static final String POST =
      "POST /up HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
  private static final String ANSWER = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

  /**
   * Numbers that one end sends, and the highest that the other end has got: so many are on their
   * way that a busy machine passes them in little time.
   */
  private static final class Direction {
    private static final int WINDOW = 10_000;

    private final boolean isChunked;
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger got = new AtomicInteger();
    private volatile boolean isEnded;

    Direction(boolean isChunked) {
      this.isChunked = isChunked;
    }

    void pour(HttpSocket socket) {
      try {
        while (!isEnded) {
          if (sent.get() - got.get() >= WINDOW) {
            LockSupport.parkNanos(100_000);
            continue;
          }
          final String text = "N" + sent.incrementAndGet() + "\n";
          socket.send(
              isChunked ? Integer.toHexString(text.length()) + "\r\n" + text + "\r\n" : text);
        }
      } catch (IOException e) {
        // the proxy has reset it
      }
    }

    void read(InputStream in) {
      int number = -1;
      try {
        for (int next = in.read(); next >= 0; next = in.read()) {
          if (next == 'N') {
            number = 0;
          } else if (next == '\n' && number > 0) {
            got.set(number);
            number = -1;
          } else if (number >= 0 && Character.isDigit(next)) {
            number = 10 * number + next - '0';
          } else {
            number = -1; // the proxy has divided the chunk here: the next number is whole
          }
        }
      } catch (IOException e) {
        // the proxy has reset it
      }
    }
  }

  /** A client and a server that send to each other at the same time. */
  private static final class Stream implements AutoCloseable {
    private final Direction up;
    private final Direction down;
    private final OriginServer server;
    private final ProxyBench bench;
    private final HttpSocket client;
    private final CompletableFuture<Void> serverEnd = new CompletableFuture<>();
    private final CompletableFuture<Void> clientEnd;

    Stream(boolean isTunnel, ProxyBenchRule rule) throws Exception {
      up = new Direction(!isTunnel);
      down = new Direction(!isTunnel);
      server =
          new OriginServer(
              connection -> {
                connection.head();
                connection.send(isTunnel ? SWITCHING : ANSWER);
                Thread.ofVirtual().start(() -> down.pour(connection));
                up.read(connection.in());
                serverEnd.complete(null);
              });
      bench = new ProxyBench(server.port());
      rule.apply(bench);
      client = bench.client();
      client.send(isTunnel ? UPGRADE : POST);
      Thread.ofVirtual().start(() -> up.pour(client));
      clientEnd =
          CompletableFuture.runAsync(
              () -> down.read(client.in()), task -> Thread.ofVirtual().start(task));
      await(this::isFlowing);
    }

    boolean isFlowing() {
      return up.got.get() > 100 && down.got.get() > 100;
    }

    void enforce() throws Exception {
      bench.proxy.enforce().get(10, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws IOException {
      up.isEnded = true;
      down.isEnded = true;
      client.close();
      bench.close();
      server.close();
    }
  }

  private interface ProxyBenchRule {
    void apply(ProxyBench bench);
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    for (int i = 0; !condition.getAsBoolean(); i++) {
      assertTrue(i < 2_000, "waited too long");
      Thread.sleep(5);
    }
  }

  @ParameterizedTest
  @CsvSource({"true,true", "true,false", "false,true", "false,false"})
  void shouldEndBothDirectionsBeforeItIsComplete(boolean isTunnel, boolean isFlowDenied)
      throws Exception {
    try (Stream stream = new Stream(isTunnel, bench -> {})) {
      stream.bench.admits = !isFlowDenied;
      if (!isFlowDenied) {
        stream.bench.rule = request -> HttpVerdict.DENIED;
      }
      stream.enforce();
      final int up = stream.up.sent.get();
      final int down = stream.down.sent.get();
      stream.clientEnd.get(20, TimeUnit.SECONDS);
      stream.serverEnd.get(20, TimeUnit.SECONDS);
      assertTrue(stream.up.got.get() <= up, "the server got what was sent later");
      assertTrue(stream.down.got.get() <= down, "the client got what was sent later");
      await(() -> stream.bench.proxy.descriptors() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldLeaveWhatIsStillAllowed(boolean isTunnel) throws Exception {
    try (Stream stream = new Stream(isTunnel, bench -> {})) {
      stream.enforce();
      final int up = stream.up.sent.get();
      final int down = stream.down.sent.get();
      await(() -> stream.up.got.get() > up && stream.down.got.get() > down);
      assertEquals(1, stream.bench.proxy.connections());
    }
  }

  @Test
  void shouldJudgeTheFieldsAsTheyCameAndNotAsARuleChangedThem() throws Exception {
    final HttpVerdict changing =
        new HttpVerdict(true, List.of(new HeaderChange(HttpVerdict.Action.REPLACE, "x-a", "2")));
    try (Stream stream =
        new Stream(
            false,
            bench ->
                bench.rule =
                    request -> request.hasHeader("x-a", "1") ? changing : HttpVerdict.DENIED)) {
      stream.enforce();
      final int up = stream.up.sent.get();
      await(() -> stream.up.got.get() > up);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldEndBothDirectionsWherePolicyFails(boolean isTunnel) throws Exception {
    try (Stream stream = new Stream(isTunnel, bench -> {})) {
      stream.bench.rule =
          request -> {
            throw new IllegalStateException("planned");
          };
      stream.enforce();
      stream.clientEnd.get(20, TimeUnit.SECONDS);
      stream.serverEnd.get(20, TimeUnit.SECONDS);
      await(() -> stream.bench.proxy.descriptors() == 0);
    }
  }

  @Test
  void shouldCloseAnIdleConnectionOfAFlowThatIsDenied() throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client();
        HttpSocket other = bench.client()) {
      assertEquals(200, client.get("/one").status());
      bench.rule = request -> HttpVerdict.DENIED;
      bench.proxy.enforce().get(10, TimeUnit.SECONDS);
      assertEquals(403, client.get("/two").status(), "no request went on");
      bench.admits = false;
      bench.proxy.enforce().get(10, TimeUnit.SECONDS);
      assertThrows(IOException.class, () -> client.send("GET").get("/three"));
      assertThrows(IOException.class, () -> other.send("GET").get("/three"));
      await(() -> bench.proxy.descriptors() == 0);
    }
  }

  /** The datapath is asked to join its socket when the policy changes. */
  @Test
  void shouldNotConnectToTheServerOfAFlowThatIsDeniedMeanwhile() throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port())) {
      bench.serverEndpoint = 9;
      bench.joins = new CompletableFuture<>();
      try (HttpSocket client = bench.client()) {
        client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
        await(() -> !bench.joined.isEmpty());
        bench.admits = false;
        bench.proxy.enforce().get(10, TimeUnit.SECONDS);
        bench.joins.complete(null);
        assertEquals(bench.joined.getFirst(), bench.left.poll(10, TimeUnit.SECONDS));
        assertTrue(client.isEnded());
      }
      try (HttpSocket next = new HttpSocket(new Socket("127.0.0.1", server.port()))) {
        assertEquals(200, next.get("/").status());
        assertEquals(1, server.connections.get(), "one before it would have been accepted first");
      }
    }
  }

  @Test
  void shouldResetTheDeniedStreamsOfHttp2AloneOrTheConnectionWithTheLast() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench = new ProxyBench(server.port());
        Http2ClientCloser closer = new Http2ClientCloser(bench)) {
      final CompletableFuture<Answer> allowed = closer.client.get("/later");
      final CompletableFuture<Answer> denied = closer.client.get("/never");
      await(() -> server.requests.size() == 2);
      bench.rule =
          request -> request.path().equals("/never") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
      bench.proxy.enforce().get(10, TimeUnit.SECONDS);
      assertEquals(Http2Error.CANCEL.code(), denied.get(10, TimeUnit.SECONDS).reset());
      server.answerLater();
      final Answer answer = allowed.get(10, TimeUnit.SECONDS);
      assertEquals("200", answer.heads().getFirst().status().toString());
      assertNull(answer.reset());
      final CompletableFuture<Answer> last = closer.client.get("/later");
      await(() -> server.requests.size() == 3);
      bench.rule = request -> HttpVerdict.DENIED;
      bench.proxy.enforce().get(10, TimeUnit.SECONDS);
      await(last::isDone);
      await(() -> bench.proxy.descriptors() == 0);
    }
  }

  private static final class Http2ClientCloser implements AutoCloseable {
    private final Http2Client client;

    Http2ClientCloser(ProxyBench bench) throws IOException {
      client = new Http2Client(bench.proxy.firstPort());
    }

    @Override
    public void close() {
      client.close();
    }
  }
}
