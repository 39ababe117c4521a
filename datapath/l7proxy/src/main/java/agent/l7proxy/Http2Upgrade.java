package agent.l7proxy;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.AsciiString;
import java.util.Base64;
import java.util.List;

/**
 * The upgrade of a connection from HTTP/1.1 to HTTP/2 (RFC 7540 section 3.2). What is not a clean
 * offer is none: the request is answered by HTTP/1.1.
 */
final class Http2Upgrade {
  private static final String PROTOCOL = "h2c";

  /** The name of the field with the settings of the client. */
  static final AsciiString SETTINGS = AsciiString.cached("HTTP2-Settings");

  private static final int SETTING_LENGTH = 6;
  private static final int LAST_SETTING = 6;

  private Http2Upgrade() {}

  /**
   * Returns the settings of the client where a request offers to go on with HTTP/2; null: none.
   *
   * @param head as it came
   */
  static Http2Settings offered(HttpRequest head) {
    final HttpHeaders headers = head.headers();
    if (!headers.contains(HttpHeaderNames.UPGRADE)) {
      return null;
    }
    final List<String> protocols = headers.getAll(HttpHeaderNames.UPGRADE);
    if (protocols.size() != 1 || !PROTOCOL.equalsIgnoreCase(protocols.getFirst())) {
      return null;
    }
    final List<String> settings = headers.getAll(SETTINGS);
    return settings.size() == 1 && isForThisHop(headers) && isWithoutBody(head)
        ? decoded(settings.getFirst())
        : null;
  }

  private static boolean isForThisHop(HttpHeaders headers) {
    return headers.containsValue(HttpHeaderNames.CONNECTION, "upgrade", true)
        && headers.containsValue(HttpHeaderNames.CONNECTION, SETTINGS, true)
        && !headers.containsValue(HttpHeaderNames.CONNECTION, "close", true);
  }

  private static boolean isWithoutBody(HttpRequest head) {
    final HttpHeaders headers = head.headers();
    return head.protocolVersion().equals(HttpVersion.HTTP_1_1)
        && !head.method().equals(HttpMethod.CONNECT)
        && !headers.contains(HttpHeaderNames.TRANSFER_ENCODING)
        && "0".equals(headers.get(HttpHeaderNames.CONTENT_LENGTH, "0"));
  }

  /** Returns the payload of a SETTINGS frame; null: it is not valid. */
  private static Http2Settings decoded(String text) {
    try {
      final byte[] payload = Base64.getUrlDecoder().decode(text);
      if (payload.length % SETTING_LENGTH != 0) {
        return null;
      }
      final Http2Settings settings = new Http2Settings();
      for (int i = 0; i < payload.length; i += SETTING_LENGTH) {
        final char id = (char) unsigned(payload, i, 2);
        if (id > 0 && id <= LAST_SETTING) {
          settings.put(id, Long.valueOf(unsigned(payload, i + 2, 4)));
        }
      }
      return settings;
    } catch (IllegalArgumentException e) {
      return null; // not base64url, or a value out of its range
    }
  }

  private static long unsigned(byte[] bytes, int from, int length) {
    long value = 0;
    for (int i = from; i < from + length; i++) {
      value = value << Byte.SIZE | Byte.toUnsignedLong(bytes[i]);
    }
    return value;
  }

  /** Returns the response after which the connection is one of HTTP/2. */
  static HttpResponse response() {
    final HttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.SWITCHING_PROTOCOLS, Unpooled.EMPTY_BUFFER);
    response
        .headers()
        .set(HttpHeaderNames.CONNECTION, "Upgrade")
        .set(HttpHeaderNames.UPGRADE, PROTOCOL);
    return response;
  }
}
