package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.Http2Client.Answer;
import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RedirectStatistics.Messages;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that begin with HTTP/1.1 and go on with HTTP/2; the server is asked by HTTP/1.1. */
class Http2UpgradeTest {
  private static final String SETTINGS = "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
  private static final String CONNECTION = "Connection: Upgrade, HTTP2-Settings\r\n";
  private static final String OFFER = CONNECTION + "Upgrade: h2c\r\n" + SETTINGS;

  private OriginServer server;
  private ProxyBench bench;

  @BeforeEach
  void start() throws IOException {
    server = OriginServer.answering();
    bench = new ProxyBench(server.port());
  }

  @AfterEach
  void stop() throws IOException {
    bench.close();
    server.close();
  }

  private static String head(String line, String fields) {
    return line + " HTTP/1.1\r\nHost: a.test\r\n" + fields + "\r\n";
  }

  private Http2Client upgrade(String path) {
    return new Http2Client(bench.proxy.firstPort(), head("GET " + path, OFFER));
  }

  private static Answer answer(Http2Client client) throws Exception {
    return client.first.get(20, TimeUnit.SECONDS);
  }

  @Test
  void shouldAnswerTheRequestOfAnUpgradeAndTheNextOnesByHttp2() throws Exception {
    try (Http2Client client = upgrade("/x/../one")) {
      assertEquals(
          "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c",
          client.upgraded.get(20, TimeUnit.SECONDS));
      assertEquals("GET /one|", answer(client).body());
      assertEquals("POST /two|hi", post(client, "/two", "hi", null).join().body());
      assertEquals("GET /three|", client.get("/three").join().body());
    }
    assertEquals(List.of("GET a.test /one", "POST a.test /two", "GET a.test /three"), bench.judged);
    assertEquals(1, server.connections.get());
    assertEquals(List.of("Host: a.test"), server.requests.getFirst().fields());
    final List<String> next = server.requests.getLast().fields();
    assertEquals(List.of("host: a.test:80"), next);
    assertEquals(Verdict.FORWARDED, bench.record().verdict());
    assertEquals("HTTP/2", bench.record().protocol());
  }

  private static CompletableFuture<Answer> post(
      Http2Client client, String path, String body, Http2Headers trailers) {
    return client.send(Http2Client.head("POST", path), body, trailers);
  }

  @Test
  void shouldJudgeTheRequestOfAnUpgradeBeforeItChangesTheProtocol() throws Exception {
    bench.rule = request -> request.path().equals("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    try (HttpSocket client = bench.client()) {
      assertEquals(403, client.send(head("GET /no", OFFER)).response().status());
      assertEquals("GET /yes|", client.get("/yes").text());
      client.send(head("GET /up", OFFER));
      assertEquals(101, client.headOnly().status());
    }
    try (Http2Client client = upgrade("/yes")) {
      assertEquals(200, answer(client).status());
      assertEquals(403, client.get("/no").join().status());
      assertEquals("GET /yes|", client.get("/yes").join().body());
    }
    assertTrue(server.requests.stream().noneMatch(request -> request.start().contains("/no")));
  }

  /** What is no clean offer is answered by HTTP/1.1; the server sees no trace of it. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("noOffers")
  void shouldGoOnWithHttp11(String name, String request, String body) throws Exception {
    try (HttpSocket client = bench.client()) {
      assertEquals(body, client.send(request).response().text());
      assertEquals("GET /next|", client.get("/next").text());
    }
    for (final HttpSocket.Message seen : server.requests) {
      assertNull(seen.field("upgrade"), seen.toString());
      assertNull(seen.field("http2-settings"));
      assertNull(seen.field("connection"));
    }
  }

  static Stream<Arguments> noOffers() {
    final String upgrade = "Upgrade: h2c\r\n";
    return Stream.of(
        row("no settings", head("GET /", CONNECTION + upgrade)),
        row("settings twice", head("GET /", OFFER + SETTINGS)),
        row("settings in no Connection", head("GET /", "Connection: Upgrade\r\n" + upgrade)),
        row(
            "settings not of this hop",
            head("GET /", "Connection: Upgrade\r\n" + upgrade + SETTINGS)),
        row(
            "upgrade not of this hop",
            head("GET /", "Connection: HTTP2-Settings\r\n" + upgrade + SETTINGS)),
        row("no Connection", head("GET /", upgrade + SETTINGS)),
        row("not base64", head("GET /", CONNECTION + upgrade + "HTTP2-Settings: A*==\r\n")),
        row("half a setting", head("GET /", CONNECTION + upgrade + "HTTP2-Settings: AAMA\r\n")),
        row("push 2", head("GET /", CONNECTION + upgrade + "HTTP2-Settings: AAIAAAAC\r\n")),
        row("frame size 0", head("GET /", CONNECTION + upgrade + "HTTP2-Settings: AAUAAAAA\r\n")),
        row("two protocols", head("GET /", CONNECTION + "Upgrade: h2c, x\r\n" + SETTINGS)),
        row("upgrade twice", head("GET /", OFFER + upgrade)),
        row("h2", head("GET /", CONNECTION + "Upgrade: h2\r\n" + SETTINGS)),
        Arguments.of("body", head("POST /", OFFER + "Content-Length: 2\r\n") + "hi", "POST /|hi"),
        Arguments.of(
            "chunks",
            head("POST /", OFFER + "Transfer-Encoding: chunked\r\n") + "2\r\nhi\r\n0\r\n\r\n",
            "POST /|hi"));
  }

  private static Arguments row(String name, String request) {
    return Arguments.of(name, request, "GET /|");
  }

  @Test
  void shouldGoOnWithHttp11WhereTheNextRequestIsThere() throws Exception {
    try (HttpSocket client = bench.client()) {
      client.send(head("GET /1", OFFER) + head("GET /2", ""));
      assertEquals("GET /1|", client.response().text());
      assertEquals("GET /2|", client.response().text());
    }
    try (HttpSocket client = bench.client()) {
      client.send(head("GET /3", OFFER) + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      assertEquals("GET /3|", client.response().text());
      assertEquals(400, client.response().status());
      assertTrue(client.isEnded());
    }
    try (HttpSocket client = bench.client()) {
      client.send(head("GET /4", OFFER.replace("Upgrade,", "Upgrade, close,")));
      assertEquals("GET /4|", client.response().text());
      assertTrue(client.isEnded());
    }
  }

  /** Bytes behind the upgrade are frames of HTTP/2, and never a request to the server. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n"
      })
  void shouldNotPassBytesBehindAnUpgradeToTheServer(String rest) throws Exception {
    try (HttpSocket client = bench.client()) {
      client.send(head("GET /", OFFER));
      assertEquals(101, client.headOnly().status());
      client.send(rest);
      client.in().readAllBytes();
    } catch (java.net.SocketException e) {
      // reset: there were bytes that are not read
    }
    assertTrue(server.requests.stream().noneMatch(seen -> seen.start().contains("smuggled")));
    assertEquals(List.of("GET a.test /"), bench.judged);
  }

  /** The requests of several streams are not mixed on one connection of HTTP/1.1. */
  @Test
  void shouldAskTheServerForManyStreamsAtOnce() throws Exception {
    try (Http2Client client = upgrade("/0")) {
      answer(client);
      for (int round = 0; round < 3; round++) {
        final List<CompletableFuture<Answer>> answers = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
          answers.add(post(client, "/" + i, "body " + i, null));
        }
        for (int i = 0; i < 50; i++) {
          assertEquals("POST /" + i + "|body " + i, answers.get(i).join().body());
        }
      }
      assertTrue(server.connections.get() < 150, () -> server.connections + " connections");
    }
    awaitConnections(0);
  }

  private void awaitConnections(int count) throws InterruptedException {
    for (int i = 0; bench.proxy.connections() != count; i++) {
      assertTrue(i < 1000, () -> bench.proxy.connections() + " connections");
      Thread.sleep(10);
    }
  }

  /** RFC 9113 section 6.9: the window of a stream is not updated by nothing. */
  @Test
  void shouldEndTheRequestOfAnUpgradeWhoseStreamFails() throws Exception {
    final CountDownLatch closed = new CountDownLatch(1);
    try (OriginServer silent =
            new OriginServer(
                connection -> {
                  connection.request();
                  connection.line();
                  closed.countDown();
                });
        ProxyBench other = new ProxyBench(silent.port());
        HttpSocket client = other.client()) {
      client.send(head("GET /", OFFER));
      assertEquals(101, client.headOnly().status());
      client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0");
      client.send("\0\0\4\10\0\0\0\0\1" + "\0\0\0\0");
      assertTrue(closed.await(10, TimeUnit.SECONDS), "the answer is not wanted");
      assertEquals(Verdict.ERROR, other.record().verdict());
      assertEquals(
          new Messages(1, 1, 0, 0),
          other.proxy.redirectCounters().statistics(7).getFirst().requests());
    }
  }

  /** One client cannot take the descriptors of all others with the streams of a connection. */
  @Test
  void shouldCountTheConnectionsOfStreamsAsTheirClients() throws Exception {
    final CountDownLatch end = new CountDownLatch(1);
    try (OriginServer slow =
            new OriginServer(
                connection -> {
                  connection.request();
                  end.await();
                  connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                });
        ProxyBench small = new ProxyBench(slow.port(), context -> context.descriptors(30));
        Http2Client client = new Http2Client(small.proxy.firstPort(), head("GET /slow", OFFER))) {
      client.upgraded.get(20, TimeUnit.SECONDS);
      final List<CompletableFuture<Answer>> answers = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        answers.add(client.get("/" + i));
      }
      for (int i = 0; answers.stream().filter(CompletableFuture::isDone).count() < 34; i++) {
        assertTrue(i < 1000, () -> small.proxy.descriptors() + " descriptors");
        Thread.sleep(10);
      }
      assertEquals(28, small.proxy.descriptors(), "two are kept for others");
      assertEquals(1, small.proxy.connections());
      assertEquals(34, small.proxy.refusedConnections());
      end.countDown();
      final List<Integer> statuses = answers.stream().map(a -> a.join().status()).toList();
      // The first request, that of the upgrade, has one of the connections.
      assertEquals(26, statuses.stream().filter(status -> status == 200).count(), "" + statuses);
      assertEquals(34, statuses.stream().filter(status -> status == 503).count(), "" + statuses);
      client.channel.close();
      for (int i = 0; small.proxy.descriptors() > 0; i++) {
        assertTrue(i < 1000, () -> small.proxy.descriptors() + " descriptors");
        Thread.sleep(10);
      }
      assertEquals(0, small.proxy.connections());
    }
  }

  /** Framing of HTTP/2 is made anew for HTTP/1.1: nothing of a request decides it. */
  @Test
  void shouldFrameWhatItSendsOnByHttp11() throws Exception {
    try (Http2Client client = upgrade("/")) {
      answer(client);
      final Http2Headers trailers = new DefaultHttp2Headers().set("x-sum", "1").set("host", "b");
      assertEquals("POST /c|abc", post(client, "/c", "abc", trailers).join().body());
      final HttpSocket.Message chunked = server.requests.getLast();
      assertEquals("chunked", chunked.field("transfer-encoding"));
      assertNull(chunked.field("content-length"));
      assertEquals(List.of("x-sum: 1"), chunked.trailers());
      final Http2Headers cookies = Http2Client.head("GET", "/k").set("te", "trailers");
      client.send(cookies.add("cookie", "a=1").add("cookie", "b=2"), null, null).join();
      final HttpSocket.Message cookie = server.requests.getLast();
      assertEquals("a=1; b=2", cookie.field("cookie"));
      assertEquals("TE", cookie.field("connection"));
    }
  }

  @ParameterizedTest
  @MethodSource("refused")
  void shouldRefuseWhatWouldBeAnotherRequestByHttp11(Http2Headers fields, String body)
      throws Exception {
    try (Http2Client client = upgrade("/")) {
      answer(client);
      final Http2Headers head = Http2Client.head("POST", "/x");
      head.setAll(fields);
      final Answer answer = client.send(head, body, null).join();
      assertTrue(answer.reset() != null || answer.status() == 400, answer.toString());
    }
    server.requests.removeFirst();
    for (final HttpSocket.Message seen : server.requests) {
      assertEquals("POST /x HTTP/1.1", seen.start());
      assertEquals("0", seen.field("content-length"), "a body that was not sent: " + seen.text());
    }
  }

  static Stream<Arguments> refused() {
    final String smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
    return Stream.of(
        refused(fields("content-length", "0"), smuggled),
        refused(fields("content-length", "3"), smuggled),
        refused(fields("content-length", "9999"), smuggled),
        refused(fields("content-length", "9999"), null),
        refused(fields("content-length", "3").add("content-length", "4"), "abc"),
        refused(fields("content-length", "+3"), "abc"),
        refused(fields("transfer-encoding", "chunked"), smuggled),
        refused(fields("connection", "transfer-encoding"), smuggled),
        refused(fields("x", "a\r\ntransfer-encoding: chunked"), smuggled),
        refused(fields("x: y\r\ntransfer-encoding", "chunked"), smuggled),
        refused(fields("transfer-encoding : chunked\r\nx", "y"), smuggled),
        refused(fields(":method", "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET"), null),
        refused(fields(":path", "/ HTTP/1.1\r\nHost: b\r\n\r\nGET /"), null),
        refused(fields(":path", "/ HTTP/1.1"), null),
        refused(fields(":authority", "a.test\r\nx: y"), null),
        refused(fields(":authority", "a.test@b.test"), null),
        refused(fields("host", "b.test"), null),
        refused(fields(":authority", ""), null));
  }

  private static Http2Headers fields(String name, String value) {
    return new DefaultHttp2Headers(false).set(name, value);
  }

  private static Arguments refused(Http2Headers fields, String body) {
    return Arguments.of(fields, body);
  }

  @Test
  void shouldRefuseARequestWithoutHostThatHttp11NeedsOneFor() throws Exception {
    try (Http2Client client = upgrade("/")) {
      answer(client);
      final Http2Headers head = Http2Client.head("GET", "/x");
      head.remove(":authority");
      final Answer answer = client.send(head, null, null).join();
      assertTrue(answer.reset() != null || answer.status() == 400, answer.toString());
    }
    assertEquals(1, server.requests.size());
  }

  /** The client of the JDK offers HTTP/2 with each first request of a connection. */
  @Test
  void shouldServeTheClientOfTheJdk() throws Exception {
    try (HttpClient http = HttpClient.newHttpClient()) {
      final URI uri = URI.create("http://127.0.0.1:" + bench.proxy.firstPort() + "/jdk");
      final var request = java.net.http.HttpRequest.newBuilder(uri).build();
      final HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
      assertEquals("GET /jdk|", answer.body());
      assertEquals(HttpClient.Version.HTTP_2, answer.version());
      final List<CompletableFuture<HttpResponse<String>>> more = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        more.add(http.sendAsync(request, BodyHandlers.ofString()));
      }
      for (final CompletableFuture<HttpResponse<String>> each : more) {
        assertEquals("GET /jdk|", each.get(20, TimeUnit.SECONDS).body());
      }
    }
  }

  @Test
  void shouldPassWhatAServerSendsInOtherWays() throws Exception {
    try (OriginServer odd =
            new OriginServer(
                connection -> {
                  final String path = connection.request().start().split(" ")[1];
                  connection.send(
                      switch (path) {
                        case "/early" ->
                            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                                + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                + "2\r\nok\r\n0\r\nX-Sum: 5\r\n\r\n";
                        case "/old" -> "HTTP/1.0 200 OK\r\n\r\nuntil the end";
                        default ->
                            "HTTP/1.1 204 No Content\r\nConnection: close, x\r\nX: y\r\n\r\n";
                      });
                });
        ProxyBench other = new ProxyBench(odd.port());
        Http2Client client = new Http2Client(other.proxy.firstPort(), head("GET /early", OFFER))) {
      final Answer early = answer(client);
      assertEquals(
          List.of("103", "200"),
          early.heads().stream()
              .map(Http2Headers::status)
              .filter(status -> status != null)
              .map(CharSequence::toString)
              .toList());
      assertEquals("ok", early.body());
      assertEquals("5", early.heads().getLast().get("x-sum").toString());
      assertEquals("until the end", client.get("/old").join().body());
      final Answer empty = client.get("/empty").join();
      assertEquals(204, empty.status());
      assertNull(empty.heads().getFirst().get("connection"));
      assertNotNull(empty.heads().getFirst().get("x"));
    }
  }
}
