package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Clients that take long to send, or do not read; the limits are short here. */
class SlowClientTest {
  private static final long LIMIT_MS = 300;

  /** So long that a pause of a quarter of it ends in time on a busy machine, too. */
  private static final long LONG_LIMIT_MS = 2000;

  private static final int SENDS = 300;
  private static final String GET = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

  private interface Use {
    void run(ProxyBench bench, HttpSocket client) throws Exception;
  }

  private static void with(Consumer<HttpProxyContext> options, Use use) throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port(), options);
        HttpSocket client = bench.client()) {
      use.run(bench, client);
    }
  }

  private static void limited(Use use) throws Exception {
    with(context -> context.headTimeout(Duration.ofMillis(LIMIT_MS)), use);
  }

  /**
   * Sends a byte each few milliseconds until the other end has closed; returns how long it took.
   */
  private static long trickle(HttpSocket client, byte[] bytes) throws Exception {
    final long startNs = System.nanoTime();
    try {
      for (final byte next : bytes) {
        client.send(new byte[] {next});
        TimeUnit.MILLISECONDS.sleep(LIMIT_MS / 10);
        if (client.in().available() > 0) {
          break;
        }
      }
    } catch (SocketException e) {
      // closed
    }
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
  }

  private static byte[] longHead() {
    return ("GET /slow HTTP/1.1\r\nHost: a.test\r\nX: " + "x".repeat(400))
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static void assertRefused(ProxyBench bench, HttpSocket client) throws Exception {
    final HttpSocket.Message answer = client.response();
    assertEquals(408, answer.status());
    assertEquals("close", answer.field("connection"));
    assertTrue(client.isEnded());
    final RequestRecord record = bench.record();
    assertEquals(Verdict.ERROR, record.verdict());
    assertEquals(408, record.status());
  }

  @Test
  void shouldCloseAConnectionOnWhichNothingComes() throws Exception {
    limited(
        (bench, client) -> {
          assertTrue(client.isEnded());
          assertTrue(bench.records.isEmpty());
        });
  }

  @Test
  void shouldAnswer408ToAFirstHeadThatComesByteByByte() throws Exception {
    limited(
        (bench, client) -> {
          final long tookMs = trickle(client, longHead());
          assertTrue(tookMs < 20 * LIMIT_MS, "took " + tookMs);
          assertRefused(bench, client);
        });
  }

  @Test
  void shouldAnswer408ToALaterHeadThatComesByteByByte() throws Exception {
    limited(
        (bench, client) -> {
          assertEquals(200, client.get("/1").status());
          assertEquals(200, bench.record().status());
          TimeUnit.MILLISECONDS.sleep(2 * LIMIT_MS);
          assertEquals(200, client.get("/2").status());
          assertEquals(200, bench.record().status());
          trickle(client, longHead());
          assertRefused(bench, client);
        });
  }

  @Test
  void shouldAnswer408ToAHeadThatBeginsBehindARequest() throws Exception {
    limited(
        (bench, client) -> {
          client.send(GET + "GET /half HTTP/1.1\r\nHost:");
          assertEquals(200, client.response().status());
          assertEquals(200, bench.record().status());
          assertRefused(bench, client);
        });
  }

  @Test
  void shouldCountEmptyLinesBeforeTheFirstHeadInItsTime() throws Exception {
    limited(
        (bench, client) -> {
          trickle(client, "\r\n".repeat(300).getBytes(StandardCharsets.US_ASCII));
          assertRefused(bench, client);
        });
  }

  @Test
  void shouldGiveEachHeadItsOwnTime() throws Exception {
    with(
        context -> context.headTimeout(Duration.ofMillis(LONG_LIMIT_MS)),
        (bench, client) -> {
          for (int i = 0; i < 6; i++) {
            client.send("GET /x HTTP/1.1\r\n");
            TimeUnit.MILLISECONDS.sleep(LONG_LIMIT_MS / 4);
            assertEquals(200, client.send("Host: a.test\r\n\r\n").response().status());
          }
        });
  }

  @Test
  void shouldNotLimitABodyByTheTimeOfAHead() throws Exception {
    limited(
        (bench, client) -> {
          client.send("POST /b HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nab");
          TimeUnit.MILLISECONDS.sleep(2 * LIMIT_MS);
          assertEquals("POST /b|abcd", client.send("cd").response().text());
        });
  }

  @Test
  void shouldCloseWhenTheBodyOfADeniedRequestDoesNotCome() throws Exception {
    limited(
        (bench, client) -> {
          bench.rule = request -> HttpVerdict.DENIED;
          client.send("POST /b HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nab");
          assertEquals(403, client.response().status());
          assertTrue(client.isEnded());
        });
  }

  @Test
  void shouldKeepAnIdleConnectionUnlessAnOptionLimitsIt() throws Exception {
    limited(
        (bench, client) -> {
          assertEquals(200, client.get("/1").status());
          TimeUnit.MILLISECONDS.sleep(3 * LIMIT_MS);
          assertEquals(200, client.get("/2").status());
        });
    with(
        context -> context.idleTimeout(Duration.ofMillis(LONG_LIMIT_MS)),
        (bench, client) -> {
          for (int i = 0; i < 6; i++) {
            assertEquals(200, client.get("/" + i).status());
            TimeUnit.MILLISECONDS.sleep(LONG_LIMIT_MS / 4);
          }
          assertTrue(client.isEnded());
          assertEquals(6, bench.records.size());
        });
  }

  @Test
  void shouldCloseAnHttp2ConnectionThatDoesNotEndItsPreface() throws Exception {
    limited(
        (bench, client) -> {
          client.send(PREFACE);
          trickle(client, new byte[] {0, 0, 60, 4, 0, 0, 0});
          assertEnded(client);
        });
  }

  @Test
  void shouldCloseAnHttp2ConnectionWhoseFieldsDoNotEnd() throws Exception {
    limited(
        (bench, client) -> {
          client.send(PREFACE).send(SETTINGS);
          TimeUnit.MILLISECONDS.sleep(2 * LIMIT_MS);
          final long startNs = System.nanoTime();
          client.send(new byte[] {0, 0, 1, 1, 0, 0, 0, 0, 1, (byte) 0x82}); // without END_HEADERS
          assertEnded(client);
          final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
          assertTrue(tookMs >= LIMIT_MS / 2 && tookMs < 20 * LIMIT_MS, "took " + tookMs);
        });
  }

  @Test
  void shouldKeepAnIdleHttp2ConnectionUnlessAnOptionLimitsIt() throws Exception {
    try (Http2Server server = new Http2Server();
        ProxyBench bench =
            new ProxyBench(
                server.port(), context -> context.headTimeout(Duration.ofMillis(LIMIT_MS)));
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      assertEquals("200", status(client.get("/1")));
      TimeUnit.MILLISECONDS.sleep(3 * LIMIT_MS);
      assertEquals("200", status(client.get("/2")));
    }
    try (Http2Server server = new Http2Server();
        ProxyBench bench =
            new ProxyBench(
                server.port(), context -> context.idleTimeout(Duration.ofMillis(LONG_LIMIT_MS)));
        Http2Client client = new Http2Client(bench.proxy.firstPort())) {
      for (int i = 0; i < 6; i++) {
        assertEquals("200", status(client.get("/" + i)));
        TimeUnit.MILLISECONDS.sleep(LONG_LIMIT_MS / 4);
      }
      assertTrue(client.channel.closeFuture().await(20, TimeUnit.SECONDS));
    }
  }

  private static String status(CompletableFuture<Http2Client.Answer> answer) {
    return answer.join().heads().getFirst().status().toString();
  }

  /** Reads frames of the proxy until it has closed. */
  private static void assertEnded(HttpSocket client) throws IOException {
    try {
      client.in().readAllBytes();
    } catch (SocketException e) {
      // reset
    }
  }

  /** Answers that wait for the client are memory of the agent. */
  @Test
  void shouldNotJudgeTheNextRequestWhileTheClientDoesNotReadItsAnswers() throws Exception {
    with(
        context -> {},
        (bench, client) -> {
          bench.rule = request -> HttpVerdict.DENIED;
          final byte[] many = GET.repeat(500).getBytes(StandardCharsets.US_ASCII);
          final Thread sender = Thread.ofVirtual().start(() -> pour(client, many));
          int judged = -1;
          while (judged != bench.records.size()) {
            judged = bench.records.size();
            TimeUnit.SECONDS.sleep(1);
          }
          final int most = 500 * SENDS;
          assertTrue(judged < most / 2, "judged " + judged + " of " + most);
          for (int i = 0; i < most; i++) {
            assertEquals(403, client.response().status());
          }
          sender.join();
        });
  }

  private static void pour(HttpSocket client, byte[] bytes) {
    try {
      for (int i = 0; i < SENDS; i++) {
        client.send(bytes);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
