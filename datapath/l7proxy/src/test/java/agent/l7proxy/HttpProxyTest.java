package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.maps.layout.PolicyDirection;
import agent.policy.request.HttpVerdict;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.request.RedirectStatistics;
import agent.policy.request.RedirectStatistics.Messages;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests of HTTP/1 over sockets, to a server that answers what it has got. */
class HttpProxyTest {
  private OriginServer server;
  private ProxyBench bench;
  private HttpSocket client;

  @BeforeEach
  void start() throws IOException {
    server = OriginServer.answering();
    bench = new ProxyBench(server.port());
    client = bench.client();
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    bench.close();
    server.close();
  }

  @Test
  void shouldPassAllowedRequestsOverOneConnection() throws Exception {
    assertEquals("GET /one|", client.get("/one").text());
    assertEquals("GET /two?q=%41|", client.get("/t%77o?q=%41").text());
    assertEquals(1, server.connections.get());
    assertEquals(List.of("GET a.test /one", "GET a.test /two?q=%41"), bench.judged);
    final RequestRecord record = bench.record();
    assertEquals(Verdict.FORWARDED, record.verdict());
    assertEquals("/one", record.path());
    assertEquals(200, record.status());
    assertTrue(record.isEgress());
  }

  @Test
  void shouldAnswerWhatIsDeniedAndKeepTheConnection() throws Exception {
    bench.rule = request -> request.path().equals("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    final HttpSocket.Message denied =
        client
            .send("POST /no HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
            .response();
    assertEquals(403, denied.status());
    assertEquals("Access denied", denied.text());
    assertEquals("text/plain", denied.field("content-type"));
    assertEquals("GET /yes|", client.get("/yes").text());
    assertEquals(1, server.requests.size());
    assertEquals(Verdict.DENIED, bench.record().verdict());
    bench.record();
    assertEquals(
        List.of(
            new RedirectStatistics(
                PolicyDirection.EGRESS,
                server.port(),
                new Messages(2, 1, 1, 0),
                new Messages(1, 1, 0, 0))),
        bench.proxy.redirectCounters().statistics(7));
  }

  @Test
  void shouldCloseAfterDenyingAnUploadThatIsLong() throws Exception {
    bench.rule = request -> HttpVerdict.DENIED;
    client.send("PUT /no HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9000000\r\n\r\nbegin");
    final HttpSocket.Message denied = client.response();
    assertEquals(403, denied.status());
    assertEquals("close", denied.field("connection"));
    assertTrue(client.isEnded());
  }

  @Test
  void shouldCloseWhenADeniedChunkedUploadDoesNotEnd() throws Exception {
    bench.rule = request -> HttpVerdict.DENIED;
    client.send("PUT /no HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
    assertEquals(403, client.response().status());
    final String chunk = "4000\r\n" + "x".repeat(0x4000) + "\r\n";
    for (int i = 0; i < 5; i++) {
      client.send(chunk);
    }
    assertTrue(client.isEnded());
  }

  @Test
  void shouldNotWaitForABodyThatExpectsContinueWhenDenied() throws Exception {
    bench.rule = request -> HttpVerdict.DENIED;
    client.send(
        "PUT /no HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assertEquals(403, client.response().status());
    assertTrue(client.isEnded());
  }

  @Test
  void shouldAnswerPipelinedRequestsInOrderAndJudgeEach() throws Exception {
    bench.rule =
        request -> request.path().startsWith("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    final StringBuilder all = new StringBuilder();
    for (int i = 0; i < 200; i++) {
      all.append(
          "GET /%s/%d HTTP/1.1\r\nHost: a.test\r\n\r\n".formatted(i % 3 == 1 ? "no" : "yes", i));
    }
    client.send(all.toString());
    for (int i = 0; i < 200; i++) {
      assertEquals(
          i % 3 == 1 ? "Access denied" : "GET /yes/" + i + "|", client.response().text(), "" + i);
    }
    assertEquals(200, bench.judged.size());
    assertTrue(server.requests.stream().noneMatch(request -> request.start().contains("/no")));
  }

  @Test
  void shouldAnswerAllPipelinedRequestsAfterTheEndOfTheInput() throws Exception {
    client.send(
        "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n".repeat(3)
            + "POST /2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi");
    client.socket.shutdownOutput();
    for (int i = 0; i < 3; i++) {
      assertEquals("GET /1|", client.response().text());
    }
    assertEquals("POST /2|hi", client.response().text());
    assertTrue(client.isEnded());
  }

  @Test
  void shouldEndAfterPipelinedRequestsThatAreDenied() throws Exception {
    bench.rule = request -> request.path().equals("/no") ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    client.send(
        "GET /yes HTTP/1.1\r\nHost: a.test\r\n\r\n"
            + "GET /no HTTP/1.1\r\nHost: a.test\r\n\r\n".repeat(500));
    client.socket.shutdownOutput();
    assertEquals(200, client.response().status());
    for (int i = 0; i < 500; i++) {
      assertEquals(403, client.response().status());
    }
    assertTrue(client.isEnded());
  }

  @Test
  void shouldUseAChangedPolicyForTheNextRequest() throws Exception {
    assertEquals(200, client.get("/x").status());
    bench.rule = request -> HttpVerdict.DENIED;
    assertEquals(403, client.get("/x").status());
    bench.rule = request -> HttpVerdict.ALLOWED;
    assertEquals(200, client.get("/x").status());
  }

  @Test
  void shouldPassBodiesWithChunksTrailersAndHead() throws Exception {
    client.send(
        "POST /c HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
            + "3;ext=1\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX-Sum: 7\r\nHost: b.test\r\n\r\n");
    assertEquals("POST /c|abc0123456789", client.response().text());
    assertEquals(List.of("X-Sum: 7"), server.requests.getFirst().trailers());
    client.send("HEAD /h HTTP/1.1\r\nHost: a.test\r\n\r\n");
    final HttpSocket.Message head = client.headOnly();
    assertEquals(200, head.status());
    assertEquals("8", head.field("content-length"));
    assertEquals("GET /after|", client.get("/after").text());
  }

  /** What a rule has looked at or changed does not come after it, whatever a server makes of it. */
  @Test
  void shouldPassNoTrailerOfANameThatARuleKnows() throws Exception {
    bench.rule =
        request ->
            request.hasHeader("X-User", "alice") && !request.hasHeaderLine("x-role", "root")
                ? new HttpVerdict(
                    true, List.of(new HeaderChange(HttpVerdict.Action.DELETE, "X-Secret", "8")))
                : HttpVerdict.DENIED;
    client.send(
        "POST /c HTTP/1.1\r\nHost: a.test\r\nX-User: alice\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3\r\nabc\r\n0\r\nx-user: admin\r\nX-Role: root\r\nX-Sum: 7\r\nX_Role: root\r\nX-Secret: 8\r\n\r\n");
    assertEquals("POST /c|abc", client.response().text());
    assertEquals(List.of("X-Sum: 7"), server.requests.getFirst().trailers());
  }

  /** Programs behind a server get dashes and underscores as one. */
  @Test
  void shouldPassNoFieldThatLooksLikeOneThatARuleKnows() throws Exception {
    bench.rule =
        request ->
            request.hasHeader("X-User-Id", "alice") ? HttpVerdict.ALLOWED : HttpVerdict.DENIED;
    client.send(
        "GET /x HTTP/1.1\r\nHost: a.test\r\nX-User_ID: admin\r\nx-user-id: alice\r\n"
            + "X_USER_ID: root\r\nX_User: 5\r\n\r\n");
    assertEquals("GET /x|", client.response().text());
    final List<String> sent = server.requests.getFirst().fields();
    assertTrue(sent.contains("x-user-id: alice") && sent.contains("X_User: 5"), sent.toString());
    assertFalse(sent.contains("X_USER_ID: root") || sent.contains("X-User_ID: admin"), "" + sent);
  }

  @Test
  void shouldApplyTheChangesOfAVerdict() throws Exception {
    bench.rule =
        request -> {
          assertFalse(request.hasHeader("x-a", "1"));
          assertTrue(request.hasHeader("X-A", null));
          assertTrue(request.hasHeaderLine("x-a", "1"));
          assertFalse(request.hasHeaderLine("x-a", "3"));
          return new HttpVerdict(
              true,
              List.of(
                  new HeaderChange(Action.ADD, "X-New", "n"),
                  new HeaderChange(Action.DELETE, "X-A", "2"),
                  new HeaderChange(Action.REPLACE, "X-B", "b"),
                  new HeaderChange(Action.REPLACE, "Content-Length", "9"),
                  new HeaderChange(Action.LOG, "X-Logged", "v")));
        };
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\nX-A: 2\r\nX-B: 1\r\nX-B: 2\r\n\r\n");
    assertEquals(200, client.response().status());
    final HttpSocket.Message seen = server.requests.getFirst();
    assertEquals("n", seen.field("X-New"));
    assertNull(seen.field("X-A"));
    assertEquals(
        List.of("Host: a.test", "X-New: n", "X-B: b"),
        seen.fields().stream().filter(field -> !field.startsWith("X-Forwarded")).toList());
    assertNull(seen.field("content-length"));
    assertEquals(List.of("X-Logged"), bench.record().missingHeaders());
  }

  @Test
  void shouldRemoveFieldsOfTheConnectionAndUpgradesThatItCannotJudge() throws Exception {
    client.send(
        "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, X-Hop\r\n"
            + "Upgrade: TLS/1.0\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\nX-Hop: 1\r\nX-End: 1\r\n"
            + "Proxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n");
    assertEquals(200, client.response().status());
    assertEquals(List.of("Host: a.test", "X-End: 1"), server.requests.getFirst().fields());
  }

  @Test
  void shouldServeHttp10AndCloseAfterIt() throws Exception {
    client.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assertEquals("GET /old|", client.response().text());
    assertTrue(client.isEnded());
    assertEquals("GET /old HTTP/1.1", server.requests.getFirst().start());
    assertEquals(List.of("host: 127.0.0.1:" + server.port()), server.requests.getFirst().fields());
    assertEquals(List.of("GET  /old"), bench.judged);
    assertEquals("HTTP/1.0", bench.record().protocol());
  }

  @Test
  void shouldPassAnAbsoluteTargetAsAPath() throws Exception {
    client.send("GET http://A.test/x/../y HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assertEquals("GET /y|", client.response().text());
    assertEquals(List.of("GET a.test /y"), bench.judged);
  }

  @Test
  void shouldAnswerAndLogWhatIsNotHttp() throws Exception {
    client.send(new byte[] {0x16, 0x03, 0x01, 0x02, 0x00, 0x0a});
    final HttpSocket.Message answer = client.response();
    assertEquals(400, answer.status());
    assertEquals("close", answer.field("connection"));
    assertTrue(client.isEnded());
    assertEquals(Verdict.ERROR, bench.record().verdict());
    assertEquals(
        new Messages(1, 0, 0, 1),
        bench.proxy.redirectCounters().statistics(7).getFirst().requests());
  }

  @Test
  void shouldResetAConnectionThatNoRedirectHasSent() throws Exception {
    bench.isKnown = false;
    try (HttpSocket stranger = bench.client()) {
      assertTrue(stranger.isEnded());
    }
    assertEquals(List.of(), bench.judged);
  }

  @Test
  void shouldCloseTheConnectionWherePolicyFails() throws Exception {
    bench.rule =
        request -> {
          throw new IllegalStateException("no policy");
        };
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assertTrue(client.isEnded());
    assertEquals(0, server.connections.get());
  }

  @Test
  void shouldListenOnEightPorts() throws Exception {
    for (int i = 0; i < 8; i++) {
      try (HttpSocket other =
          new HttpSocket(new java.net.Socket("127.0.0.1", bench.proxy.firstPort() + i))) {
        assertEquals("GET /" + i + "|", other.get("/" + i).text());
      }
    }
  }

  @Test
  void shouldJoinBeforeItConnectsToAnEndpointAndLeaveAfterwards() throws Exception {
    bench.serverEndpoint = 9;
    bench.redirecting = EnumSet.allOf(PolicyDirection.class);
    try (HttpSocket other = bench.client()) {
      assertEquals(200, other.get("/").status());
      assertEquals(1, bench.joined.size());
    }
    assertEquals(
        bench.joined.getFirst(), bench.left.poll(10, java.util.concurrent.TimeUnit.SECONDS));
    for (final int endpoint : new int[] {7, 9}) {
      final RedirectStatistics counted =
          bench.proxy.redirectCounters().statistics(endpoint).getFirst();
      assertEquals(new Messages(1, 1, 0, 0), counted.requests());
    }
  }

  @Test
  void shouldNotConnectWhereJoiningFails() throws Exception {
    bench.serverEndpoint = 9;
    bench.joins = java.util.concurrent.CompletableFuture.failedFuture(new IOException("map full"));
    try (HttpSocket other = bench.client()) {
      assertEquals(503, other.get("/").status());
    }
    assertEquals(0, server.connections.get());
    assertEquals(4, bench.joined.size());
  }

  /** The last ones may still be in the queues of the event loops. */
  @Test
  void shouldForgetTheConnectionsOfClientsThatHaveLeft() throws Exception {
    final List<HttpSocket> others = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      others.add(bench.client());
    }
    for (int i = 0; bench.found.size() <= 50; i++) {
      assertTrue(i < 1_000, () -> bench.found.size() + " connections");
      TimeUnit.MILLISECONDS.sleep(10);
    }
    for (final HttpSocket other : others) {
      other.close();
    }
    for (int i = 0; bench.found.stream().filter(flow -> flow.get() != null).count() > 25; i++) {
      assertTrue(i < 200, "their flows are still referred to");
      TimeUnit.MILLISECONDS.sleep(10);
      System.gc();
    }
  }

  @Test
  void shouldRefuseALongHead() throws Exception {
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\nX: " + "x".repeat(70_000));
    assertEquals(400, client.response().status());
  }
}
