package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.Http2Client.Answer;
import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP/2 with prior knowledge, and gRPC over it. */
class Http2ProxyTest {
  private Http2Server server;
  private ProxyBench bench;
  private Http2Client client;

  @BeforeEach
  void start() throws IOException {
    server = new Http2Server();
    bench = new ProxyBench(server.port());
    client = new Http2Client(bench.proxy.firstPort());
  }

  @AfterEach
  void stop() {
    client.close();
    bench.close();
    server.close();
  }

  private static Http2Headers grpc(String path, String timeout) {
    final Http2Headers head =
        Http2Client.head("POST", path)
            .set("content-type", "application/grpc")
            .set("te", "trailers");
    return timeout == null ? head : head.set("grpc-timeout", timeout);
  }

  @Test
  void shouldPassConcurrentStreamsOverOneConnectionAndJudgeEach() {
    bench.rule =
        request -> request.path().startsWith("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    final List<CompletableFuture<Answer>> answers = new ArrayList<>();
    for (int i = 0; i < 90; i++) {
      answers.add(client.get(i % 3 == 0 ? "/no" : "/x/../" + i));
    }
    for (int i = 0; i < 90; i++) {
      final Answer answer = answers.get(i).join();
      assertEquals(i % 3 == 0 ? 403 : 200, i % 3 == 0 ? answer.status() : 200);
      assertEquals(i % 3 == 0 ? "Access denied" : "/" + i + "|", answer.body());
      assertNull(answer.reset());
    }
    assertEquals(1, server.connections.get());
    assertEquals(60, server.requests.size());
    assertTrue(bench.judged.contains("GET a.test /1"));
  }

  /** What a server pushes was judged by nothing (RFC 9113 sections 6.5.2 and 8.4). */
  @Test
  void shouldTellTheServerThatItTakesNoPush() {
    assertEquals("/|", client.get("/").join().body());
    assertEquals(Boolean.FALSE, server.settings.getFirst().pushEnabled());
  }

  @Test
  void shouldPassGrpcWithTrailersBothWays() throws Exception {
    final Answer answer =
        client
            .send(grpc("/s/m", null), "hello", new DefaultHttp2Headers().set("x-sum", "1"))
            .join();
    assertEquals("/s/m|hello", answer.body());
    assertEquals("0", answer.heads().getLast().get("grpc-status").toString());
    assertEquals("1", server.trailers.getFirst().get("x-sum").toString());
    assertEquals("trailers", server.requests.getFirst().get("te").toString());
    assertEquals("a.test:80", server.requests.getFirst().authority().toString());
    assertNull(server.requests.getFirst().get("x-http2-scheme"));
    assertEquals("HTTP/2", bench.record().protocol());
    final Answer only = client.send(grpc("/trailers-only", null), "x", null).join();
    assertEquals("5", only.heads().getLast().get("grpc-status").toString());
    assertEquals(1, only.heads().size());
  }

  @Test
  void shouldEndAGrpcRequestAtTheShorterTimeout() throws IOException {
    final Answer answer = client.send(grpc("/never", "50m"), "x", null).join();
    assertEquals("4", answer.heads().getLast().get("grpc-status").toString());
    assertEquals(200, answer.status());
    try (ProxyBench other =
            new ProxyBench(
                server.port(), context -> context.requestTimeout(Duration.ofMillis(50)));
        Http2Client brief = new Http2Client(other.proxy.firstPort())) {
      assertEquals(504, brief.get("/never").join().status());
    }
  }

  @Test
  void shouldPassAResetOfTheServer() {
    client.get("/first").join();
    assertEquals(503, client.send(Http2Client.head("POST", "/reset"), "x", null).join().status());
    assertEquals("/next|", client.get("/next").join().body());
    assertEquals(1, server.connections.get());
  }

  @Test
  void shouldPassInformationalResponses() {
    final Answer answer = client.get("/early").join();
    assertEquals("103", answer.heads().getFirst().status().toString());
    assertEquals("/early|", answer.body());
  }

  @Test
  void shouldStreamALongResponseBesideOthers() {
    final CompletableFuture<Answer> large = client.get("/size/50000000");
    for (int i = 0; i < 20; i++) {
      assertEquals("/" + i + "|", client.get("/" + i).join().body());
    }
    assertEquals(50_000_000, large.join().length());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/a%2fb", "/a\\b", "relative", "/a%00", "/a b"})
  void shouldRefuseAPathThatServersReadDifferently(String path) {
    final Answer answer = client.get(path).join();
    assertEquals(0, bench.judged.size());
    assertTrue(answer.reset() != null || answer.status() == 400);
    assertEquals(0, server.requests.size());
  }

  @Test
  void shouldRefuseTwoHostsThatDiffer() {
    final Answer answer =
        client.send(Http2Client.head("GET", "/").set("host", "b.test"), null, null).join();
    assertTrue(answer.reset() != null || answer.status() == 400);
    assertEquals(List.of(), bench.judged);
  }

  @ParameterizedTest
  @ValueSource(strings = {"connection", "transfer-encoding", "Upper", "x y"})
  void shouldRefuseFieldsThatHttp2DoesNotAllow(String name) {
    final Answer answer =
        client.send(Http2Client.head("GET", "/").set(name, "chunked"), null, null).join();
    assertNotNull(answer.reset());
    assertEquals(0, server.requests.size());
  }

  @Test
  void shouldRefuseConnectAndLineEndsInValues() {
    assertEquals(
        400,
        client
            .get("/ok")
            .thenCompose(ok -> client.send(Http2Client.head("CONNECT", "/"), null, null))
            .handle(
                (answer, failure) ->
                    answer == null || answer.reset() != null ? 400 : answer.status())
            .join());
    final Answer answer =
        client.send(Http2Client.head("GET", "/x").set("x", "a\r\nb: c"), null, null).join();
    assertTrue(answer.reset() != null || answer.status() == 400, answer.toString());
    assertEquals(1, server.requests.size());
  }

  @Test
  void shouldDenyAnUploadAndKeepTheConnection() {
    bench.rule = request -> request.path().equals("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    final Answer denied =
        client.send(Http2Client.head("POST", "/no"), "x".repeat(60_000), null).join();
    assertEquals(403, denied.status());
    assertEquals("/yes|", client.get("/yes").join().body());
  }

  @Test
  void shouldAnswer503WhereTheServerIsGone() {
    server.close();
    assertEquals(503, client.get("/").join().status());
  }

  /** Asks until the server has one more connection, since it takes a moment to arrive. */
  private void goAway(int connection) {
    server.goAway(connection);
    for (int i = 0; server.connections.get() <= connection + 1; i++) {
      assertTrue(i < 1000, "it has another connection");
      assertEquals("/" + i + "|", client.get("/" + i).join().body());
    }
  }

  @Test
  void shouldOpenAnotherConnectionAfterTheServerWantsNoMoreStreams() {
    final CompletableFuture<Answer> before = client.get("/later");
    assertEquals("/|", client.get("/").join().body());
    goAway(0);
    server.goAway(0);
    for (int i = 0; i < 20; i++) {
      assertEquals("/" + i + "|", client.get("/" + i).join().body());
    }
    assertEquals(2, server.connections.get(), "the other one is kept");
    server.answerLater();
    assertEquals("/later|", before.join().body());
  }

  @Test
  void shouldCloseAConnectionThatTheServerWantsNoMoreStreamsOnAfterItsLastOne() throws Exception {
    final CompletableFuture<Answer> before = client.get("/later");
    assertEquals("/|", client.get("/").join().body());
    goAway(0);
    assertTrue(server.accepted.getFirst().isOpen());
    server.answerLater();
    assertEquals("/later|", before.join().body());
    assertTrue(server.accepted.getFirst().closeFuture().await(10, TimeUnit.SECONDS));
    goAway(1);
    assertTrue(server.accepted.get(1).closeFuture().await(10, TimeUnit.SECONDS));
    assertTrue(server.accepted.get(2).isOpen());
  }

  @Test
  void shouldCloseTheConnectionsOfItsServerWhenTheClientCloses() throws Exception {
    client.get("/never");
    assertEquals("/|", client.get("/").join().body());
    goAway(0);
    client.channel.close();
    assertTrue(server.accepted.get(1).closeFuture().await(10, TimeUnit.SECONDS));
    assertTrue(server.accepted.getFirst().closeFuture().await(10, TimeUnit.SECONDS));
  }

  @Test
  void shouldCloseAConnectionThatIsOpenedAfterItsClientHasClosed() throws Exception {
    bench.serverEndpoint = 9;
    bench.joins = new CompletableFuture<>();
    try (Http2Client closing = new Http2Client(bench.proxy.firstPort())) {
      closing.get("/");
      for (int i = 0; bench.joined.isEmpty(); i++) {
        assertTrue(i < 1000, "it joins");
        Thread.sleep(10);
      }
    }
    assertEquals(Verdict.ERROR, bench.record().verdict());
    bench.joins.complete(null);
    assertEquals(bench.joined.getFirst(), bench.left.poll(10, TimeUnit.SECONDS));
    assertEquals(1, bench.joined.size());
    assertEquals(0, server.requests.size());
  }

  /** RFC 9113 section 5.1.2. */
  @Test
  void shouldWaitForAStreamOfAServerThatTakesFew() throws Exception {
    try (Http2Server few = new Http2Server(new Http2Settings().maxConcurrentStreams(1));
        ProxyBench other = new ProxyBench(few.port());
        Http2Client asking = new Http2Client(other.proxy.firstPort())) {
      assertEquals("/|", asking.get("/").join().body(), "its settings have come");
      final CompletableFuture<Answer> first = asking.get("/later");
      for (int i = 0; few.requests.size() < 2; i++) {
        assertTrue(i < 1000, "the request arrives");
        Thread.sleep(10);
      }
      final CompletableFuture<Answer> second = asking.get("/next");
      for (int i = 0; other.judged.size() < 3; i++) {
        assertTrue(i < 1000, "the next request is judged");
        Thread.sleep(10);
      }
      few.answerLater();
      assertEquals("/later|", first.join().body());
      assertEquals("/next|", second.join().body());
      assertEquals(1, few.connections.get());
    }
  }

  @Test
  void shouldPassHeadersOfUpTo64KiBBothWays() {
    final Http2Headers asked = Http2Client.head("GET", "/head/64000").set("x", "x".repeat(64_000));
    final Answer answer = client.send(asked, null, null).join();
    assertEquals("/head/64000|", answer.body());
    assertEquals(64_000, answer.heads().getFirst().get("x").length());
    assertEquals(64_000, server.requests.getFirst().get("x").length());
    final Http2Headers longer = Http2Client.head("GET", "/").set("x", "x".repeat(66_000));
    client.send(longer, null, null).handle((refused, failure) -> refused).join();
    assertEquals(1, server.requests.size());
  }
}
