package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Requests that two readers take for different ones: the server sees none of them. */
class RequestSmugglingTest {
  private static final String GET = "GET / HTTP/1.1\r\nHost: a.test\r\n";
  private static final String POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";
  private static final String SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";
  private static final String CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n";

  private static OriginServer server;
  private static ProxyBench bench;

  @BeforeAll
  static void start() throws IOException {
    server = OriginServer.answering();
    bench = new ProxyBench(server.port());
  }

  @AfterAll
  static void stop() throws IOException {
    bench.close();
    server.close();
  }

  static Stream<Arguments> refusedHeads() {
    return Stream.concat(refusedFraming(), refusedLinesAndTargets());
  }

  private static Arguments row(String row) {
    final int end = row.indexOf('|');
    return Arguments.of(row.substring(0, end), row.substring(end + 1));
  }

  private static Stream<Arguments> refusedFraming() {
    return Stream.of(
            "CL and Transfer-Encoding|"
                + POST
                + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
            "Transfer-Encoding and CL|"
                + POST
                + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n",
            "CL.CL|" + POST + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "same CL twice|" + POST + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "CL list|" + POST + "Content-Length: 5, 5\r\n\r\nhello",
            "CL sign|" + POST + "Content-Length: +5\r\n\r\nhello",
            "CL negative|" + POST + "Content-Length: -1\r\n\r\n",
            "CL hexadecimal|" + POST + "Content-Length: 0x5\r\n\r\nhello",
            "CL empty|" + POST + "Content-Length:\r\n\r\nhello",
            "CL too large|" + POST + "Content-Length: 99999999999999999999\r\n\r\n",
            "CL space|" + POST + "Content-Length : 5\r\n\r\nhello",
            "CL underscore|" + POST + "Content-Length: 1_0\r\n\r\n",
            "coding space before colon|" + POST + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "coding tab before colon|" + POST + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
            "coding unknown|" + POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "coding identity|" + POST + "Transfer-Encoding: identity\r\n\r\n",
            "coding list|" + POST + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "coding gzip|" + POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "two codings|"
                + POST
                + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
            "coding twice|"
                + POST
                + "Transfer-Encoding: chunked\r\nTransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "coding quoted|" + POST + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
            "coding vertical tab|" + POST + "Transfer-Encoding: \u000bchunked\r\n\r\n0\r\n\r\n",
            "coding other blank|" + POST + "Transfer-Encoding: \u00a0chunked\r\n\r\n0\r\n\r\n",
            "coding folded|" + POST + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
            "coding behind a bare LF|" + POST + "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "coding behind a bare CR|" + POST + "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "coding of HTTP/1.0|POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        .map(RequestSmugglingTest::row);
  }

  private static Stream<Arguments> refusedLinesAndTargets() {
    return Stream.of(
            "folded field|" + GET + "X: a\r\n b\r\n\r\n",
            "folded first|GET / HTTP/1.1\r\n Host: a.test\r\n\r\n",
            "bare LF|GET / HTTP/1.1\nHost: a.test\n\n",
            "bare LF at the end|" + GET + "X: y\r\n\n" + SMUGGLED,
            "NUL in a value|" + GET + "X: a\0b\r\n\r\n",
            "NUL in a name|" + GET + "X\0: a\r\n\r\n",
            "blank in a name|" + GET + "X Y: a\r\n\r\n",
            "no name|" + GET + ": a\r\n\r\n",
            "no colon|" + GET + "X\r\n\r\n",
            "no Host|GET / HTTP/1.1\r\n\r\n",
            "two Hosts|" + GET + "Host: a.test\r\n\r\n",
            "Host list|GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n",
            "Host with user|GET / HTTP/1.1\r\nHost: a.test@b.test\r\n\r\n",
            "Host with path|GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n",
            "absolute of another host|GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "absolute with user|GET http://b@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "absolute of another scheme|GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "absolute without Host|GET http://a.test/ HTTP/1.0\r\n\r\n",
            "CONNECT elsewhere|CONNECT b.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
            "asterisk for GET|GET * HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "no slash|GET x HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "Connection removes Host|" + GET + "Connection: host\r\n\r\n",
            "Connection removes CL|"
                + POST
                + "Content-Length: 1\r\nConnection: Content-Length\r\n\r\nx",
            "HTTP/0.9|GET /\r\n\r\n",
            "HTTP/1.2|GET / HTTP/1.2\r\nHost: a.test\r\n\r\n",
            "lower-case version|GET / http/1.1\r\nHost: a.test\r\n\r\n",
            "two blanks|GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "tab in the request line|GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "blank in the target|GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "blank after the version|GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n",
            "method|G(T / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "encoded slash|GET /a%2fb HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "encoded backslash|GET /a%5Cb HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "encoded NUL|GET /a%00b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "backslash|GET /a\\b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "fragment|GET /a#b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "dot segment with parameters|GET /a/..;/b HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "half an encoding|GET /a%2 HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "byte over 127|GET /\u00e9 HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .map(RequestSmugglingTest::row);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("refusedHeads")
  void shouldRefuseWithoutAskingPolicyOrServer(String name, String request) throws Exception {
    bench.judged.clear();
    server.requests.clear();
    try (HttpSocket client = bench.client()) {
      final HttpSocket.Message answer = client.send(request + SMUGGLED).response();
      assertEquals(400, answer.status());
      assertEquals("close", answer.field("connection"));
      assertTrue(client.isEnded());
    }
    assertEquals(List.of(), bench.judged);
    assertEquals(0, server.requests.size());
  }

  static Stream<Arguments> refusedBodies() {
    return Stream.of(
            "size not hexadecimal|g\r\n",
            "size with sign|+3\r\nabc\r\n0\r\n\r\n",
            "size negative|-3\r\nabc\r\n0\r\n\r\n",
            "size with prefix|0x3\r\nabc\r\n0\r\n\r\n",
            "size empty|\r\nabc\r\n0\r\n\r\n",
            "size of 64 bits|10000000000000003\r\nabc\r\n0\r\n\r\n",
            "size with bare LF|3\nabc\r\n0\r\n\r\n",
            "extension with bare LF|3;x\nabc\r\n0\r\n\r\n",
            "extension with bare CR|3;x\ry\r\nabc\r\n0\r\n\r\n",
            "size behind blank|3 4\r\nabc\r\n0\r\n\r\n",
            "chunk longer than its size|3\r\nabcde\r\n0\r\n\r\n",
            "chunk ended by LF|3\r\nabc\n0\r\n\r\n",
            "last chunk ended by LF|3\r\nabc\r\n0\n\n")
        .map(RequestSmugglingTest::row);
  }

  /** The head is judged and passed on before the body is read; the server sees no whole request. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("refusedBodies")
  void shouldNotCompleteARequestWhoseChunksAreNotValid(String name, String body) throws Exception {
    bench.judged.clear();
    server.requests.clear();
    try (HttpSocket client = bench.client()) {
      client.send(CHUNKED + body + SMUGGLED);
      assertEquals(400, client.response().status());
      assertTrue(client.isEnded());
    }
    assertEquals(List.of("POST a.test /"), bench.judged);
    assertEquals(0, server.requests.size());
  }

  /** What is valid and only looks odd is framed anew. */
  @ParameterizedTest
  @MethodSource("accepted")
  void shouldSendOnExactlyWhatWasJudged(String request, String judged, String body)
      throws Exception {
    bench.judged.clear();
    server.requests.clear();
    try (HttpSocket client = bench.client()) {
      assertEquals(200, client.send(request).response().status());
      assertEquals("GET /next|", client.get("/next").text());
    }
    assertEquals(List.of(judged, "GET a.test /next"), bench.judged);
    final HttpSocket.Message seen = server.requests.getFirst();
    final String[] line = seen.start().split(" ");
    assertEquals(judged, line[0] + " a.test " + line[1]);
    assertEquals(body, seen.text());
  }

  static Stream<Arguments> accepted() {
    return Stream.of(
        Arguments.of(CHUNKED + "3;a=\"b;c\"\r\nabc\r\n0;x\r\n\r\n", "POST a.test /", "abc"),
        Arguments.of(CHUNKED + "00000003\r\nabc\r\n000\r\n\r\n", "POST a.test /", "abc"),
        Arguments.of(POST + "TRANSFER-encoding:chunked\r\n\r\n0\r\n\r\n", "POST a.test /", ""),
        Arguments.of(POST + "Content-Length: 003\r\n\r\nabc", "POST a.test /", "abc"),
        Arguments.of("\r\n\r\n" + GET + "\r\n", "GET a.test /", ""),
        Arguments.of(POST + "Content-Length: 40\r\n\r\n" + SMUGGLED, "POST a.test /", SMUGGLED),
        Arguments.of("GET /a/%2e%2E/b/./c HTTP/1.1\r\nHost: a.test\r\n\r\n", "GET a.test /b/c", ""),
        Arguments.of(
            "GET /%7eu%3a?%2e HTTP/1.1\r\nHost: a.test\r\n\r\n", "GET a.test /~u%3A?%2e", ""));
  }
}
