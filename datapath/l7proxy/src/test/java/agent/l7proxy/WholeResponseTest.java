package agent.l7proxy;

import static agent.l7proxy.ExchangeBench.GET;
import static agent.l7proxy.ExchangeBench.OK;
import static agent.l7proxy.ExchangeBench.PUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.l7proxy.RequestRecord.Verdict;
import agent.policy.request.RedirectStatistics.Messages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which responses stay as they came, and that the client gets the same bytes of the others. */
class WholeResponseTest {
  private static final String START = "HTTP/1.1 200 OK\r\n";
  private static final String KEPT = "Connection: keep-alive\r\n";
  private static final String LENGTH = "Content-Length: 2\r\n";
  private static final int RANDOM = 50_000;

  private static final String[] PIECES = {
    START,
    "HTTP/1.1 404 Not  Found\r\n",
    "HTTP/1.1 200 \r\n",
    "HTTP/1.1 200\r\n",
    "HTTP/1.0 200 OK\r\n",
    LENGTH,
    "content-length: 02\r\n",
    "Content-Length: 0\r\n",
    "Content-Length:2\r\n",
    KEPT,
    "connection: keep-alive\r\n",
    "Connection: close\r\n",
    "Connection: Keep-Alive\r\n",
    "Keep-Alive: timeout=5\r\n",
    "Proxy-Connection: x\r\n",
    "Upgrade: h2c\r\n",
    "Transfer-Encoding: chunked\r\n",
    "2\r\nok\r\n0\r\n\r\n",
    "Set-Cookie: a\r\nSet-Cookie: b\r\n",
    "X: a  b\r\n",
    "X:  a\r\n",
    "X: a \r\n",
    "X: \ta\r\n",
    "X : a\r\n",
    "X:\r\n",
    "X: \r\n",
    " folded\r\n",
    "X: \u00e9\r\n",
    "X: a\rb\r\n",
    "X: a\nY: b\r\n",
    "\r\n",
    "\r\nok",
    "\r\n\r\nok",
    "ok",
    "\n",
    ":"
  };

  private static ByteBuf bytes(String text) {
    return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
  }

  private static String text(ByteBuf bytes) {
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  private static void assertStays(int status, String response) {
    final ByteBuf bytes = bytes(response);
    assertEquals(status, WholeResponse.read(bytes), response);
    assertEquals(response.replace(KEPT, ""), text(bytes));
  }

  private static void assertIsDecoded(String response) {
    final ByteBuf bytes = bytes(response);
    assertEquals(0, WholeResponse.read(bytes), response);
    assertEquals(response, text(bytes));
  }

  @Test
  void shouldTakeAResponseWithItsLengthWhereverItsConnectionStands() {
    final String type = "Content-Type: text/plain; charset=\"x y\"\r\n";
    assertStays(200, START + LENGTH + "\r\nok");
    assertStays(200, START + KEPT + LENGTH + type + "\r\nok");
    assertStays(200, START + LENGTH + KEPT + type + "\r\nok");
    assertStays(200, START + type + LENGTH + "Server: n/1 (x)\r\n" + KEPT + "\r\nok");
    assertStays(599, "HTTP/1.1 599 A reason\r\nContent-Length: 0\r\n\r\n");
    assertStays(404, "HTTP/1.1 404 No\r\ncontent-LENGTH: 2\r\nupgrades: 1\r\n\r\n\r\n");
    assertStays(200, START + "Content-Length: 100000\r\n\r\n" + "x".repeat(100_000));
    for (int i = 0; i < 20; i++) {
      assertStays(200, START + "X: " + "y".repeat(i + 1) + "\r\n" + KEPT + LENGTH + "\r\nok");
    }
  }

  /** They differ from a name that matters in one character, or have its length alone. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Xpgrade",
        "Upgradf",
        "Xonnection",
        "Connectioq",
        "Keep-alivf",
        "Xeep-Alive",
        "Xontent-Length",
        "Content-Lengti",
        "Content_Length",
        "Proxy-Connectioq",
        "Xroxy-Connection",
        "Transfer-Encodinh",
        "Xransfer-Encoding"
      })
  void shouldTakeAFieldWhoseNameIsLikeOneThatMatters(String name) {
    assertStays(200, START + LENGTH + name + ": 2\r\n\r\nok");
    assertStays(200, START + LENGTH + name + ": a b\r\n" + KEPT + "\r\nok");
    assertIsDecoded(START + name + ": 2\r\n\r\nok");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.0 200 OK|Content-Length: 2",
        "HTTP/1.1 100 Continue|Content-Length: 2",
        "HTTP/1.1 101 Switching Protocols|Content-Length: 2",
        "HTTP/1.1 199 OK|Content-Length: 2",
        "HTTP/1.1 204 No Content|Content-Length: 2",
        "HTTP/1.1 205 Reset Content|Content-Length: 2",
        "HTTP/1.1 304 Not Modified|Content-Length: 2",
        "HTTP/1.1 600 OK|Content-Length: 2",
        "HTTP/1.1 2000 OK|Content-Length: 2",
        "HTTP/1.1 2:0 OK|Content-Length: 2",
        "HTTP/1.1 200|Content-Length: 2",
        "HTTP/1.1 200 |Content-Length: 2",
        "HTTP/1.1 200  OK|Content-Length: 2",
        "HTTP/1.1 200 OK |Content-Length: 2",
        "HTTP/1.1 200 O\0K|Content-Length: 2",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK|X: y",
        "HTTP/1.1 200 OK|Content-Length: 3",
        "HTTP/1.1 200 OK|Content-Length: 1",
        "HTTP/1.1 200 OK|Content-Length: 02",
        "HTTP/1.1 200 OK|Content-Length: +2",
        "HTTP/1.1 200 OK|Content-Length: 2, 2",
        "HTTP/1.1 200 OK|Content-Length: 4294967298",
        "HTTP/1.1 200 OK|Content-Length: 2 ",
        "HTTP/1.1 200 OK|Content-Length:  2",
        "HTTP/1.1 200 OK|Content-Length:2",
        "HTTP/1.1 200 OK|Content-Length : 2",
        "HTTP/1.1 200 OK|Content-Length: ",
        "HTTP/1.1 200 OK|Content-Length: 2|Content-Length: 2",
        "HTTP/1.1 200 OK|Content-Length: 1|content-length: 2",
        "HTTP/1.1 200 OK|Content-Length: 2|Transfer-Encoding: chunked",
        "HTTP/1.1 200 OK|transfer-encoding: identity|Content-Length: 2",
        "HTTP/1.1 200 OK|Content-Length: 2|Connection: close",
        "HTTP/1.1 200 OK|Content-Length: 2|Connection: keep-alive, x",
        "HTTP/1.1 200 OK|Content-Length: 2|Connection: keep-alive|Connection: keep-alive",
        "HTTP/1.1 200 OK|Content-Length: 2|Connection: close|Connection: keep-alive",
        "HTTP/1.1 200 OK|Content-Length: 2|Keep-Alive: timeout=5",
        "HTTP/1.1 200 OK|Content-Length: 2|PROXY-CONNECTION: x",
        "HTTP/1.1 200 OK|Content-Length: 2|upgrade: h2c",
        "HTTP/1.1 200 OK|Content-Length: 2| folded",
        "HTTP/1.1 200 OK|Content-Length: 2|\tfolded",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a\nY: b",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a\rY: b",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a\0\nY: b",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a\0b",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a\177b",
        "HTTP/1.1 200 OK|Content-Length: 2|X: a ",
        "HTTP/1.1 200 OK|Content-Length: 2|X: ",
        "HTTP/1.1 200 OK|Content-Length: 2|X:",
        "HTTP/1.1 200 OK|Content-Length: 2|X",
        "HTTP/1.1 200 OK|Content-Length: 2|: y",
        "HTTP/1.1 200 OK|Content-Length: 2|X(: y",
        "HTTP/1.1 200 OK|Content-Length: 2|X : y"
      })
  void shouldLeaveAnyOtherResponse(String lines) {
    assertIsDecoded(lines.replace("|", "\r\n") + "\r\n\r\nok");
  }

  @Test
  void shouldLeaveAPartOfAResponseAndOneWithOtherEndsOfLines() {
    final String response = START + KEPT + LENGTH + "\r\nok";
    for (int i = 0; i < response.length(); i++) {
      assertIsDecoded(response.substring(0, i));
    }
    assertIsDecoded(response + "x");
    assertIsDecoded("\r\n" + response);
    assertIsDecoded(response.replace("\r\n", "\n"));
    assertIsDecoded(response.replace("\r\n", "\r"));
    assertIsDecoded(response.replace("OK\r\n", "OK\n"));
    assertIsDecoded(response.replace("2\r\n", "2\n"));
    assertIsDecoded(response.replace("alive\r\n", "alive\n"));
    assertIsDecoded(response.replace("\r\n\r\n", "\r\n\n"));
    assertIsDecoded(response.replace("\r\n\r\n", "\r\n\r"));
  }

  /** The bytes of the server are those that go to the client: they are not copied. */
  @Test
  void shouldPassTheBytesThatCame() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(GET);
    final ByteBuf came = bytes(OK);
    server.writeInbound(came);
    final ByteBuf sent = bench.client.readOutbound();
    assertSame(came, sent);
    sent.release();
    assertEquals(new Messages(1, 1, 0, 0), bench.responses());
    assertEquals(1, bench.records.size());
    assertEquals(200, bench.records.getFirst().status());
    assertEquals(Verdict.FORWARDED, bench.records.getFirst().verdict());
    bench.assertServes();
  }

  /** A response in two reads is decoded and encoded. */
  private static String[] exchanged(String request, String response, int cut) {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(request);
    server.sent();
    if (cut > 0) {
      server.receive(response.substring(0, cut));
    }
    server.receive(response.substring(cut));
    final String[] seen = {
      bench.client.sent(),
      bench.responses().toString(),
      bench.records.toString().replaceAll("time=[^,]*", ""),
      "%s %s".formatted(bench.client.isOutputShutdown(), server.isOpen())
    };
    bench.client.close();
    return seen;
  }

  private static boolean isWhole(String response) {
    return WholeResponse.read(bytes(response)) != 0;
  }

  @Test
  void shouldGiveTheClientTheBytesThatItWouldHaveOfADecodedResponse() {
    final Random random = new Random(1);
    int whole = 0;
    for (int i = 0; i < RANDOM; i++) {
      final StringBuilder text = new StringBuilder(random.nextInt(8) > 0 ? START : "");
      for (int pieces = random.nextInt(4); pieces > 0; pieces--) {
        text.append(PIECES[random.nextInt(PIECES.length)]);
      }
      text.append(random.nextBoolean() ? KEPT : "").append(random.nextInt(4) > 0 ? LENGTH : "");
      final String response = text.append("\r\nok").toString();
      if (isWhole(response)) {
        whole++;
        final String[] decoded = exchanged(GET, response, 1 + random.nextInt(15));
        final String[] passed = exchanged(GET, response, 0);
        for (int j = 0; j < decoded.length; j++) {
          assertEquals(decoded[j], passed[j], response);
        }
      }
    }
    assertTrue(whole > RANDOM / 20, whole + " of " + RANDOM);
  }

  @Test
  void shouldDecodeWhatEndsTheConnection() {
    final String closing = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    assertTrue(exchanged(closing, OK, 0)[0].contains("\r\nconnection: close\r\n"));
    final String old = closing.replace("1.1", "1.0");
    assertTrue(exchanged(old, OK, 0)[0].contains("\r\nconnection: close\r\n"));
  }

  /** What looks like a body is the next response, or the tunnel. */
  @Test
  void shouldDecodeWhatHasNoBodyWhateverItsLength() {
    for (final String method : List.of("HEAD", "CONNECT")) {
      final ExchangeBench bench = new ExchangeBench();
      final EmbeddedSocket server = bench.server();
      bench.client.receive(
          GET.replace("GET /x", method + (method.equals("HEAD") ? " /x" : " a.test")));
      server.sent();
      server.receive(START + LENGTH + "\r\n");
      assertEquals(START + LENGTH + "\r\n", bench.client.sent(), method);
      assertEquals(1, bench.records.size(), method);
      server.receive("ok");
      assertEquals(method.equals("CONNECT") ? "ok" : "", bench.client.sent());
    }
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(GET.replace("GET", "HEAD"));
    server.receive(OK);
    assertEquals(OK.replace("ok", ""), bench.client.sent());
    bench.client.receive(GET);
    server.receive(OK);
    final String next = bench.client.sent();
    assertTrue(next.startsWith("HTTP/1.1 502 "), "the next one begins with what was left");
  }

  @Test
  void shouldTakeOneResponseBeforeTheRequestHasEnded() {
    for (final boolean isSecond : new boolean[] {false, true}) {
      final ExchangeBench bench = new ExchangeBench();
      final EmbeddedSocket server = bench.server();
      bench.client.receive(PUT + "he");
      server.sent();
      final ByteBuf came = bytes(OK);
      server.writeInbound(came);
      assertSame(came, bench.client.readOutbound());
      came.release();
      assertTrue(bench.records.isEmpty(), "the request has not ended");
      if (isSecond) {
        server.receive(OK);
        assertEquals("", bench.client.sent());
        assertFalse(bench.client.isOpen());
      } else {
        bench.client.receive("re");
        assertEquals("re", server.sent());
        assertEquals(1, bench.records.size());
        bench.assertServes();
      }
    }
  }

  /** The second read is a body, not another response. */
  @Test
  void shouldNotTakeTheMiddleOfAResponseForOne() {
    final String response = START + LENGTH + "\r\nok";
    for (final String begun :
        new String[] {
          START + "Content-Length: " + response.length() + "\r\n\r\n",
          START + "Content-Length: " + (response.length() + 1) + "\r\n\r\nx",
        }) {
      final ExchangeBench bench = new ExchangeBench();
      final EmbeddedSocket server = bench.server();
      bench.client.receive(GET);
      server.receive(begun);
      server.receive(response);
      assertEquals(begun + response, bench.client.sent());
      assertEquals(1, bench.records.size());
    }
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(GET);
    server.receive(START);
    server.receive(response);
    assertFalse(bench.client.sent().equals(response), "a status line in a header is no field");
  }

  @Test
  void shouldTakeAResponseAfterAnInformationalOne() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(GET);
    server.receive("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    assertEquals("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", bench.client.sent());
    final ByteBuf came = bytes(START + LENGTH + KEPT + "\r\nok");
    server.writeInbound(came);
    assertSame(came, bench.client.readOutbound());
    assertEquals(START + LENGTH + "\r\nok", text(came));
    came.release();
    bench.assertServes();
  }

  /** What answers no request closes the connection, in whatever form it comes. */
  @Test
  void shouldNotPassAResponseThatNothingHasAskedFor() {
    final ExchangeBench bench = new ExchangeBench();
    final EmbeddedSocket server = bench.server();
    bench.client.receive(GET);
    server.receive(OK);
    assertEquals(OK, bench.client.sent());
    assertNull(server.pipeline().get(ServerHandler.class).request(), "memory of idle connections");
    server.receive(OK);
    assertFalse(server.isOpen());
    assertEquals("", bench.client.sent());
    bench.assertServes();
  }
}
