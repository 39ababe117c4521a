package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.Http2Client.Answer;
import agent.policy.request.HttpVerdict;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A proxy that keeps escaped slashes: what is judged is what the server gets, to the byte. */
class EscapedSlashesTest {
  private static OriginServer server;
  private static ProxyBench bench;
  private static Http2Server http2Server;
  private static ProxyBench http2Bench;

  @BeforeAll
  static void start() throws IOException {
    server = OriginServer.answering();
    bench = new ProxyBench(server.port(), EscapedSlashesTest::keeping);
    http2Server = new Http2Server();
    http2Bench = new ProxyBench(http2Server.port(), EscapedSlashesTest::keeping);
  }

  private static void keeping(HttpProxyContext context) {
    context.escapedSlashes(EscapedSlashes.KEEP);
  }

  @AfterAll
  static void stop() throws IOException {
    bench.close();
    server.close();
    http2Bench.close();
    http2Server.close();
  }

  @BeforeEach
  void forget() {
    bench.judged.clear();
    server.requests.clear();
    http2Bench.judged.clear();
    http2Server.requests.clear();
  }

  @ParameterizedTest
  @CsvSource({
    "/a%2fb, /a%2fb",
    "/a%2Fb, /a%2Fb",
    "/a%5cb%5C, /a%5cb%5C",
    "/%2f, /%2f",
    "/a%252fb, /a%252fb",
    "/a%25%32%66b, /a%252fb",
    "/%61%2f%7e?%2f, /a%2f~?%2f",
    "/x/../a%2Fb/./c, /a%2Fb/c",
    "/a%2fb/../c, /c",
    "/public/..%252fadmin, /public/..%252fadmin",
  })
  void shouldSendOnExactlyWhatItJudged(String target, String judged) throws Exception {
    for (final String form : List.of(target, "http://a.test" + target)) {
      forget();
      try (HttpSocket client = bench.client()) {
        client.send("GET " + form + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assertEquals("GET " + judged + "|", client.response().text());
      }
      assertEquals(List.of("GET a.test " + judged), bench.judged);
      assertEquals("GET " + judged + " HTTP/1.1", server.requests.getFirst().start());
    }
    try (Http2Client client = new Http2Client(http2Bench.proxy.firstPort())) {
      assertEquals(judged + "|", client.get(target).join().body());
    }
    assertEquals(1, http2Bench.judged.size());
    assertTrue(http2Bench.judged.getFirst().endsWith(" " + judged), http2Bench.judged.toString());
  }

  /** A server that decodes slashes before it removes dot segments would leave the folder. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/public/..%2fadmin",
        "/public/..%2Fadmin",
        "/public/%2e%2e%2fadmin",
        "/public/.%2E%2Fadmin",
        "/public/..%5cadmin",
        "/public/..%5C..%2fadmin",
        "/public/x%2f../admin",
        "/public/x%2f%2e%2e",
        "/public/x%2f..%2f..%2fadmin",
        "/public/x%5c%2e%2e/admin",
        "/public%2f..%2fadmin",
        "/public/.%2fadmin",
        "/public%2f./admin",
        "/public/..;x%2fadmin",
        "/public/x%2f..;/admin",
        "/public/x;%2f../admin",
        "/public/a%00%2fb",
        "/public/..%2",
        "/public/..\\admin"
      })
  void shouldRefuseDotSegmentsBesideThem(String target) throws Exception {
    try (HttpSocket client = bench.client()) {
      client.send("GET " + target + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals(400, client.response().status());
      assertTrue(client.isEnded());
    }
    try (Http2Client client = new Http2Client(http2Bench.proxy.firstPort())) {
      final Answer answer = client.get(target).join();
      assertTrue(answer.reset() != null || answer.status() == 400, answer.toString());
    }
    assertEquals(List.of(), bench.judged);
    assertEquals(List.of(), http2Bench.judged);
    assertEquals(0, server.requests.size() + http2Server.requests.size());
  }

  /** A rule for one segment does not see the slash that a server may decode. */
  @ParameterizedTest
  @CsvSource({"/a%2fb, 200", "/a%2Fb, 403", "/a/b, 403", "/a%252fb, 403"})
  void shouldCompareRulesWithTheEscapesAsTheyCame(String target, int status) throws Exception {
    bench.rule =
        request -> request.path().equals("/a%2fb") ? HttpVerdict.ALLOWED : HttpVerdict.DENIED;
    try (HttpSocket client = bench.client()) {
      client.send("GET " + target + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
      assertEquals(status, client.response().status());
    } finally {
      bench.rule = request -> HttpVerdict.ALLOWED;
    }
  }
}
