package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The head of a response: how it is framed, and what may stay open. */
class ResponseHeadTest {
  private final DefaultHttpResponse head = response(200);

  private static DefaultHttpResponse response(int status) {
    return new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status));
  }

  private static JudgedRequest request(HttpVersion version, String method)
      throws BadRequestException {
    final DefaultHttpRequest request =
        new DefaultHttpRequest(
            version, HttpMethod.valueOf(method), method.equals("CONNECT") ? "a.test" : "/");
    request.headers().set("Host", "a.test");
    return JudgedRequest.of(request, false, false, EscapedSlashes.REJECT);
  }

  private static ResponseHead framed(DefaultHttpResponse response, String method)
      throws BadRequestException {
    return ResponseHead.of(response, request(HttpVersion.HTTP_1_1, method), false, false, true);
  }

  @ParameterizedTest
  @CsvSource({
    "GET, 200, false",
    "HEAD, 200, true",
    "GET, 204, true",
    "GET, 304, true",
    "GET, 404, false"
  })
  void shouldCloseTheServerWhoseResponseEndsWithItsConnection(
      String method, int status, boolean isKept) throws BadRequestException {
    final DefaultHttpResponse response = response(status);
    final ResponseHead framed = framed(response, method);
    assertEquals(isKept, framed.isServerKept());
    assertEquals(isKept ? null : "chunked", response.headers().get("transfer-encoding"));
    assertTrue(framed.isClientKept());
    assertFalse(framed.isRefused());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Content-Length", "Transfer-Encoding"})
  void shouldKeepTheServerWhoseResponseHasAnEnd(String field) throws BadRequestException {
    head.headers().set(field, field.startsWith("C") ? "5" : "chunked");
    assertTrue(framed(head, "GET").isServerKept());
    assertEquals(1, head.headers().size());
  }

  @Test
  void shouldKeepTheServerOfHttp2() throws BadRequestException {
    final ResponseHead framed =
        ResponseHead.of(head, request(HttpVersion.HTTP_1_1, "GET"), true, true, true);
    assertTrue(framed.isServerKept());
    assertNull(head.headers().get("transfer-encoding"));
  }

  @Test
  void shouldCloseTheServerThatAsksForIt() throws BadRequestException {
    head.headers().set("Content-Length", "5").set("Connection", "close, x").set("Keep-Alive", "5");
    head.headers().set("Proxy-Connection", "keep-alive").set("Upgrade", "h2c");
    assertFalse(framed(head, "GET").isServerKept());
    assertEquals(1, head.headers().size(), "the fields of its connection are removed");
  }

  @Test
  void shouldCloseBothAfterHttp10() throws BadRequestException {
    head.headers().set("Transfer-Encoding", "chunked");
    final ResponseHead framed =
        ResponseHead.of(head, request(HttpVersion.HTTP_1_0, "GET"), false, false, true);
    assertFalse(framed.isServerKept());
    assertFalse(framed.isClientKept());
    assertNull(head.headers().get("transfer-encoding"));
    assertEquals("close", head.headers().get("connection"));
  }

  @Test
  void shouldTellAClientOfHttp1AloneThatItsConnectionEnds() throws BadRequestException {
    for (final boolean isHttp2 : new boolean[] {false, true}) {
      final DefaultHttpResponse response = response(204);
      response.setProtocolVersion(HttpVersion.HTTP_1_0);
      final ResponseHead framed =
          ResponseHead.of(response, request(HttpVersion.HTTP_1_1, "GET"), isHttp2, isHttp2, false);
      assertFalse(framed.isClientKept());
      assertEquals(isHttp2 ? null : "close", response.headers().get("connection"));
      assertEquals(HttpVersion.HTTP_1_1, response.protocolVersion());
    }
  }

  @ParameterizedTest
  @CsvSource({"true, false", "false, true"})
  void shouldFrameForWhatTheServerSpeaksAndCloseForWhatTheClientDoes(
      boolean isHttp2, boolean isServerHttp2) throws BadRequestException {
    final ResponseHead framed =
        ResponseHead.of(head, request(HttpVersion.HTTP_1_1, "GET"), isHttp2, isServerHttp2, false);
    assertEquals(isServerHttp2, framed.isServerKept());
    assertEquals(isServerHttp2 ? null : "chunked", head.headers().get("transfer-encoding"));
    assertEquals(isHttp2 ? null : "close", head.headers().get("connection"));
  }

  @ParameterizedTest
  @CsvSource({"99, true", "100, false", "199, false", "200, false", "999, false", "1000, true"})
  void shouldRefuseAStatusThatIsNone(int status, boolean isRefused) throws BadRequestException {
    final ResponseHead framed = framed(response(status), "GET");
    assertEquals(isRefused, framed.isRefused());
    assertEquals(status < 200, framed.isInformational());
    assertEquals(status, framed.status());
  }

  @Test
  void shouldRemoveFieldsOfTheConnectionFromAnInformationalResponse() throws BadRequestException {
    final DefaultHttpResponse early = response(103);
    early.headers().set("Connection", "x").set("Link", "y");
    framed(early, "GET");
    assertEquals(1, early.headers().size());
  }

  @ParameterizedTest
  @CsvSource({"200, true, false", "204, true, true", "199, false, false", "404, false, false"})
  void shouldTunnelAfterConnectWith200(int status, boolean isTunnel, boolean isRefused)
      throws BadRequestException {
    final ResponseHead framed = framed(response(status), "CONNECT");
    assertEquals(isTunnel, framed.isTunnel());
    assertEquals(isRefused, framed.isRefused());
  }

  @ParameterizedTest
  @CsvSource({
    "websocket, WebSocket, false",
    "websocket, h2c, true",
    "websocket, , true",
    "other, websocket, true"
  })
  void shouldTunnelAfterTheUpgradeThatWasAskedFor(String asked, String answered, boolean isRefused)
      throws BadRequestException {
    final DefaultHttpRequest request =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/");
    request.headers().set("Host", "a.test").set("Connection", "Upgrade").set("Upgrade", asked);
    final DefaultHttpResponse switching = response(101);
    if (answered != null) {
      switching.headers().set("Upgrade", answered);
    }
    final ResponseHead head =
        ResponseHead.of(
            switching,
            JudgedRequest.of(request, false, false, EscapedSlashes.REJECT),
            false,
            false,
            true);
    assertTrue(head.isTunnel());
    assertEquals(isRefused, head.isRefused());
  }

  @Test
  void shouldRefuseOtherCodings() throws BadRequestException {
    head.headers().add("Transfer-Encoding", "gzip");
    assertTrue(framed(head, "GET").isRefused());
    head.headers().set("Transfer-Encoding", "chunked");
    assertFalse(framed(head, "GET").isRefused());
    head.headers().add("Transfer-Encoding", "chunked");
    assertTrue(framed(head, "GET").isRefused());
  }

  @ParameterizedTest
  @CsvSource(
      value = {"Fine \t ü|Fine \t ü", "~|~", "a\u0000b|OK", "a\u001fb|OK", "a\u007fb|OK"},
      delimiter = '|')
  void shouldPassAReasonThatIsText(String reason, String passed) throws BadRequestException {
    head.setStatus(new Status(reason));
    framed(head, "GET");
    assertEquals(passed, head.status().reasonPhrase());
  }

  /** Netty's own takes no control characters; its decoder gives such ones. */
  private static final class Status extends HttpResponseStatus {
    private final String reason;

    Status(String reason) {
      super(200, "");
      this.reason = reason;
    }

    @Override
    public String reasonPhrase() {
      return reason;
    }
  }
}
