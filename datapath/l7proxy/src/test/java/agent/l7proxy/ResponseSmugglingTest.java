package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Responses that two readers take for different ones, and trailers that look like fields. */
class ResponseSmugglingTest {
  private static final String OK = "HTTP/1.1 200 OK\r\n";
  private static final String SMUGGLED = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled";

  private static OriginServer answering(String response) throws Exception {
    return new OriginServer(
        connection -> {
          while (connection.request() != null) {
            connection.send(response);
          }
        });
  }

  static Stream<Arguments> refused() {
    return Stream.of(
            "two lengths|" + OK + "Content-Length: 2\r\nContent-Length: 40\r\n\r\nok",
            "list of lengths|" + OK + "Content-Length: 2, 40\r\n\r\nok",
            "length with a sign|" + OK + "Content-Length: +2\r\n\r\nok",
            "negative length|" + OK + "Content-Length: -1\r\n\r\nok",
            "hexadecimal length|" + OK + "Content-Length: 0x2\r\n\r\nok",
            "empty length|" + OK + "Content-Length:\r\n\r\nok",
            "length too large|" + OK + "Content-Length: 99999999999999999999\r\n\r\nok",
            "NUL in a value|" + OK + "X: a\0b\r\nContent-Length: 2\r\n\r\nok",
            "unknown coding|" + OK + "Transfer-Encoding: xchunked\r\n\r\nok",
            "length and chunks|"
                + OK
                + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "two codings|"
                + OK
                + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "coding before chunked|" + OK + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "coding behind chunked|" + OK + "Transfer-Encoding: chunked, gzip\r\n\r\nok",
            "status of four digits|HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
            "status of two digits|HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok",
            "101|HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
        .map(row -> Arguments.of(row.split("\\|")[0], row.substring(row.indexOf('|') + 1)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("refused")
  void shouldAnswer502(String name, String response) throws Exception {
    try (OriginServer server = answering(response + SMUGGLED);
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      assertEquals(502, client.get("/1").status());
      assertEquals(502, client.get("/2").status(), "the next one is not the rest of the first");
    }
  }

  /** Blanks behind a name are removed (RFC 9112 section 5.1), and no trailer is framing. */
  @Test
  void shouldPassResponsesInOneForm() throws Exception {
    final String both =
        OK
            + "Transfer-Encoding : chunked\r\n\r\n"
            + "2\r\nok\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nX-Sum: 1\r\n\r\n";
    try (OriginServer server = answering(both);
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      for (int i = 0; i < 3; i++) {
        final HttpSocket.Message answer = client.get("/" + i);
        assertEquals("ok", answer.text());
        assertEquals("chunked", answer.field("transfer-encoding"));
        assertNull(answer.field("content-length"));
        assertEquals(List.of("X-Sum: 1"), answer.trailers());
      }
    }
  }

  @Test
  void shouldReplaceAReasonThatIsNoText() throws Exception {
    for (final String reason : List.of("O\0K", "\6OK", "OK\177")) {
      try (OriginServer server =
              answering("HTTP/1.1 200 " + reason + "\r\nContent-Length: 2\r\n\r\nok");
          ProxyBench bench = new ProxyBench(server.port());
          HttpSocket client = bench.client()) {
        final HttpSocket.Message answer = client.get("/");
        assertEquals("HTTP/1.1 200 OK", answer.start());
        assertEquals("ok", answer.text());
      }
    }
  }

  @Test
  void shouldNotPassTrailersThatLookLikeFraming() throws Exception {
    try (OriginServer server = OriginServer.answering();
        ProxyBench bench = new ProxyBench(server.port());
        HttpSocket client = bench.client()) {
      client.send(
          "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
              + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\nTE: x\r\n"
              + "Host: b.test\r\nConnection: x\r\nUpgrade: h2c\r\nCookie: c\r\n"
              + "Authorization: a\r\nProxy-Authorization: p\r\nExpect: 100-continue\r\nX-Sum: 1\r\n\r\n");
      assertEquals("POST /|hi", client.response().text());
      assertEquals(List.of("X-Sum: 1"), server.requests.getFirst().trailers());
      assertEquals("GET /next|", client.get("/next").text());
    }
  }

  @Test
  void shouldNotTakeWhatFollowsAResponseWithoutBodyForTheNextOne() throws Exception {
    for (final String empty :
        List.of(
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n")) {
      try (OriginServer server = answering(empty + SMUGGLED);
          ProxyBench bench = new ProxyBench(server.port());
          HttpSocket client = bench.client()) {
        for (int i = 0; i < 3; i++) {
          client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
          assertEquals(empty.substring(9, 12), client.headOnly().start().substring(9, 12));
        }
      }
    }
  }
}
