package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The head of a request, without the decoder that refuses some of them before. */
class JudgedRequestTest {
  private static DefaultHttpRequest head(HttpVersion version, String method, String target) {
    return new DefaultHttpRequest(version, HttpMethod.valueOf(method), target);
  }

  private static DefaultHttpRequest head(String method, String target) {
    final DefaultHttpRequest head = head(HttpVersion.HTTP_1_1, method, target);
    head.headers().set("Host", "a.test:80");
    return head;
  }

  private static JudgedRequest judged(DefaultHttpRequest head) throws BadRequestException {
    return JudgedRequest.of(head, false, false, EscapedSlashes.REJECT);
  }

  private static void assertRefused(
      String message, DefaultHttpRequest head, boolean isHttp2, boolean isServerHttp2) {
    assertEquals(
        message,
        assertThrows(
                BadRequestException.class,
                () -> JudgedRequest.of(head, isHttp2, isServerHttp2, EscapedSlashes.REJECT))
            .getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "9", "123456789012345678"})
  void shouldTakeALengthOfUpTo18Digits(String length) throws BadRequestException {
    final DefaultHttpRequest head = head("PUT", "/");
    head.headers().set("Content-Length", length);
    assertEquals(!length.equals("0"), judged(head).hasBody());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1234567890123456789", "+1", "1/", ":1", "1a2"})
  void shouldRefuseALengthThatIsNoNumber(String length) {
    final DefaultHttpRequest head = head("PUT", "/");
    head.headers().set("Content-Length", length);
    assertRefused("Content-Length is not a number", head, false, false);
  }

  @ParameterizedTest
  @CsvSource({
    "HTTP/1.1, false, false",
    "HTTP/1.0, false, true",
    "HTTP/1.1, true, true",
    "HTTP/1.0, true, true"
  })
  void shouldRefuseARequestWithoutHostWhereTheServerNeedsOne(
      String version, boolean isServerHttp2, boolean isTaken) throws BadRequestException {
    final DefaultHttpRequest head = head(HttpVersion.valueOf(version), "GET", "/");
    if (isTaken) {
      assertEquals(
          "", JudgedRequest.of(head, isServerHttp2, isServerHttp2, EscapedSlashes.REJECT).host());
    } else {
      assertRefused("missing Host", head, isServerHttp2, isServerHttp2);
    }
  }

  /** A list of protocols is not cut to one of them (RFC 9110 sections 5.3 and 7.8). */
  @ParameterizedTest
  @CsvSource(
      value = {
        "websocket| |true",
        "WebSocket| |true",
        "websocket|h2c|false",
        "websocket|websocket|false",
        "h2c|websocket|false",
        "websocket, h2c| |false"
      },
      delimiter = '|')
  void shouldKeepTheUpgradeToAWebSocketAlone(String first, String second, boolean isKept)
      throws BadRequestException {
    final DefaultHttpRequest head = head("GET", "/");
    head.headers().set("Connection", "Upgrade").set("Upgrade", first);
    if (second != null) {
      head.headers().add("Upgrade", second);
    }
    assertEquals(isKept, judged(head).isWebSocket());
    assertEquals(isKept ? List.of("websocket") : List.of(), head.headers().getAll("Upgrade"));
    assertEquals(isKept ? List.of("Upgrade") : List.of(), head.headers().getAll("Connection"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET|TE: trailers",
        "GET|Connection: Upgrade|Upgrade: websocket",
        "PUT|Content-Length: 4",
        "PUT|Transfer-Encoding: chunked"
      })
  void shouldLetNoRuleChangeTheFramingOrTheRoute(String request) throws BadRequestException {
    final String[] parts = request.split("\\|");
    for (final Action action : List.of(Action.ADD, Action.REPLACE, Action.DELETE)) {
      for (final String name :
          List.of("Content-Length", "Transfer-Encoding", "Connection", "UPGRADE", "te", "Host")) {
        final DefaultHttpRequest head = head(parts[0], "/");
        for (int i = 1; i < parts.length; i++) {
          head.headers().set(parts[i].split(": ")[0], parts[i].split(": ")[1]);
        }
        final JudgedRequest judged = judged(head);
        final String before = head.headers().entries().toString();
        judged.apply(List.of(new HeaderChange(action, name, "other")));
        assertEquals(before, head.headers().entries().toString(), action + " " + name);
      }
    }
  }

  /** It is judged once more where rules change while it goes on. */
  @Test
  void shouldJudgeARequestOfHttp10AsItsClientHasSentIt() throws BadRequestException {
    for (final boolean isChanged : new boolean[] {false, true}) {
      final DefaultHttpRequest head = head(HttpVersion.HTTP_1_0, "PUT", "/");
      head.headers().set("Expect", "100-continue").set("TE", "trailers");
      final JudgedRequest request = judged(head);
      final HeaderChange change = new HeaderChange(Action.ADD, "X", "y");
      request.apply(isChanged ? List.of(change) : List.of());
      request.toHttp11(ExchangeBench.FLOW);
      assertEquals(isChanged ? List.of("X", "host") : List.of("host"), names(head));
      assertEquals("", request.host());
      assertEquals("", request.authority());
      assertFalse(request.hasHeader("Host", null));
      assertFalse(request.hasHeader("X", null));
      assertTrue(request.hasHeader("Expect", "100-continue"));
      assertTrue(request.hasHeader("TE", "trailers"));
      assertTrue(request.isHttp10());
      assertTrue(request.wantsClose());
    }
  }

  private static List<String> names(DefaultHttpRequest head) {
    return head.headers().entries().stream().map(Map.Entry::getKey).toList();
  }

  @Test
  void shouldLeaveARequestOfHttp11AsItIs() throws BadRequestException {
    final DefaultHttpRequest head = head("PUT", "/");
    head.headers().set("Expect", "100-continue").set("TE", "trailers");
    final JudgedRequest request = judged(head);
    request.toHttp11(ExchangeBench.FLOW);
    assertEquals(List.of("Host", "Expect", "te", "connection"), names(head));
    assertEquals("a.test:80", head.headers().get("Host"));
    assertFalse(request.isHttp10());
  }

  @Test
  void shouldJudgeTheHostWithoutItsPort() throws BadRequestException {
    assertEquals("a.test", judged(head("GET", "/")).host());
    final DefaultHttpRequest empty = head("GET", "/");
    empty.headers().set("Host", "");
    assertEquals("", judged(empty).host());
  }

  @Test
  void shouldTakeConnectByHttp1ToItsOwnHostAlone() throws BadRequestException {
    assertTrue(judged(head("CONNECT", "A.test:80")).isConnect());
    final String message = "the CONNECT target differs from Host";
    assertRefused(message, head("CONNECT", "b.test:80"), false, false);
    assertRefused(message, head("CONNECT", "a.test:80"), true, true);
  }

  @ParameterizedTest
  @CsvSource({
    "http://a.test:80, /",
    "HTTP://A.test:80/x, /x",
    "http://a.test:80?q, /?q",
    "/x, /x",
    "/, /"
  })
  void shouldJudgeAnAbsoluteTargetByItsPath(String target, String path) throws BadRequestException {
    assertEquals(path, judged(head("GET", target)).path());
  }

  @Test
  void shouldTakeAnAsteriskForOptionsAlone() throws BadRequestException {
    assertEquals("*", judged(head("OPTIONS", "*")).path());
    final String message = "the target is neither a path nor an http URI";
    assertRefused(message, head("GET", "*"), false, false);
    assertRefused(message, head("GET", ""), false, false);
    assertRefused(message, head("GET", "x"), false, false);
    assertRefused(
        "the host of the target differs from Host", head("GET", "http://b.test/"), false, false);
  }

  @Test
  void shouldSayWhatARequestIs() throws BadRequestException {
    assertTrue(judged(head("HEAD", "/")).isHead());
    assertFalse(judged(head("GET", "/")).isHead());
    assertFalse(judged(head("GET", "/")).isConnect());
    assertFalse(judged(head("GET", "/")).wantsClose());
    assertTrue(judged(head("PUT", "/")).isIdempotent());
    assertFalse(judged(head("POST", "/")).isIdempotent());
  }

  @Test
  void shouldCallGrpcWhatIsOfHttp2AndOfItsType() throws BadRequestException {
    for (final boolean isHttp2 : new boolean[] {false, true}) {
      final DefaultHttpRequest head = head("POST", "/");
      head.headers().set("Content-Type", "application/grpc+proto");
      assertEquals(
          isHttp2, JudgedRequest.of(head, isHttp2, isHttp2, EscapedSlashes.REJECT).isGrpc());
    }
    final DefaultHttpRequest other = head("POST", "/");
    assertFalse(JudgedRequest.of(other, true, true, EscapedSlashes.REJECT).isGrpc());
    other.headers().set("Content-Type", "text/plain");
    assertFalse(JudgedRequest.of(other, true, true, EscapedSlashes.REJECT).isGrpc());
  }

  @Test
  void shouldReadSmallBodiesToTheirEndUnlessTheClientWaits() throws BadRequestException {
    final DefaultHttpRequest head = head("PUT", "/");
    assertTrue(judged(head).isSmall(0));
    head.headers().set("Content-Length", "5");
    assertTrue(judged(head).isSmall(5));
    assertFalse(judged(head).isSmall(4));
    head.headers().set("Expect", "100-continue");
    assertFalse(judged(head).isSmall(5));
  }

  @Test
  void shouldTakeTwoEqualHostsOfHttp2Alone() throws BadRequestException {
    for (final String second : new String[] {"a.test:80", "b.test:80"}) {
      final DefaultHttpRequest head = head("GET", "/");
      head.headers().add("Host", second);
      if (second.startsWith("a")) {
        assertEquals("a.test", JudgedRequest.of(head, true, true, EscapedSlashes.REJECT).host());
        assertEquals(1, head.headers().getAll("Host").size());
        head.headers().add("Host", second);
        assertRefused("duplicate Host", head, false, false);
        head.headers().add("Host", second);
      }
      assertRefused("duplicate Host", head, true, true);
    }
  }

  /** Netty puts the field there for a stream; HTTP/1 has it in its framing. */
  @Test
  void shouldLookAtTheTransferEncodingOfHttp1Alone() throws BadRequestException {
    final DefaultHttpRequest head = head("PUT", "/");
    head.headers().set("Transfer-Encoding", "gzip");
    assertRefused("Transfer-Encoding is not chunked", head, false, false);
    assertTrue(JudgedRequest.of(head, true, true, EscapedSlashes.REJECT).hasBody());
  }

  @Test
  void shouldTakeAFieldOfSeveralLinesForNoValue() throws BadRequestException {
    for (final boolean isHttp2 : new boolean[] {false, true}) {
      for (final String[] lines : new String[][] {{"admin", "root"}, {"root", "admin"}}) {
        final DefaultHttpRequest head = head("GET", "/");
        head.headers().add("X-User", lines[0]).add("x-user", lines[1]);
        final JudgedRequest request =
            JudgedRequest.of(head, isHttp2, isHttp2, EscapedSlashes.REJECT);
        assertFalse(request.hasHeader("X-User", "admin"));
        assertFalse(request.hasHeader("X-User", "root"));
        assertTrue(request.hasHeaderLine("X-USER", "admin"));
        assertTrue(request.hasHeader("X-User", null));
      }
    }
    final DefaultHttpRequest head = head("GET", "/");
    head.headers().add("X-User", "admin").add("X-Team", "a, b");
    final JudgedRequest request = judged(head);
    assertTrue(request.hasHeader("x-user", "admin"));
    assertFalse(request.hasHeader("X-User", "Admin"), "values have case");
    assertFalse(request.hasHeaderLine("X-User", "ADMIN"));
    assertTrue(request.hasHeader("X-Team", "a, b"));
    assertFalse(request.hasHeader("X-Team", "a"));
    assertEquals("a.test:80", request.authority());
  }

  @Test
  void shouldRemoveTheFieldsThatNettyAddsToStreams() throws BadRequestException {
    final DefaultHttpRequest head = head("GET", "/");
    for (final String name :
        new String[] {
          "x-http2-scheme",
          "x-http2-path",
          "x-http2-stream-id",
          "x-http2-stream-weight",
          "x-http2-stream-dependency-id",
          "x-http2-stream-promise-id"
        }) {
      head.headers().set(name, "1");
    }
    judged(head);
    assertEquals(7, head.headers().size(), "they are those of the client");
    JudgedRequest.of(head, true, true, EscapedSlashes.REJECT);
    assertEquals(1, head.headers().size());
  }

  @Test
  void shouldNameTheFieldOfTrailersInTheConnectionOfHttp1Alone() throws BadRequestException {
    for (final boolean isHttp2 : new boolean[] {false, true}) {
      final DefaultHttpRequest head = head("GET", "/");
      head.headers().set("TE", "gzip, trailers");
      JudgedRequest.of(head, isHttp2, isHttp2, EscapedSlashes.REJECT);
      assertEquals("trailers", head.headers().get("TE"));
      assertEquals(isHttp2 ? null : "TE", head.headers().get("Connection"));
    }
  }

  @Test
  void shouldCompareTheAuthorityInLowerCase() throws BadRequestException {
    final DefaultHttpRequest head = head("GET", "/");
    head.headers().set("Host", "A.Test:80");
    assertEquals("a.test:80", judged(head).authority());
    assertEquals("A.Test:80", head.headers().get("Host"), "it goes on as it came");
  }

  /** RFC 9110 section 5.3. */
  @Test
  void shouldTakeAllLinesOfConnectionForOne() throws BadRequestException {
    final DefaultHttpRequest head = head("GET", "/");
    head.headers().set("X-First", "1").set("X-Second", "1").set("X-Third", "1").set("X", "1");
    head.headers().add("Connection", "x-first").add("Connection", "x-second, close, x-third");
    assertTrue(judged(head).wantsClose());
    assertEquals(Set.of("Host", "X"), head.headers().names());
  }
}
