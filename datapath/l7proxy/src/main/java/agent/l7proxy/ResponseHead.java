package agent.l7proxy;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.HttpConversionUtil;
import java.util.List;

/** The head of a response, framed for the client. */
final class ResponseHead {
  private static final int LEAST_STATUS = 100;
  private static final int MOST_STATUS = 999;
  private static final int SWITCHING = 101;
  private static final int OK = 200;
  private static final int NO_CONTENT = 204;
  private static final int NOT_MODIFIED = 304;

  private final HttpResponse head;
  private final JudgedRequest request;
  private final boolean isHttp2;
  private final boolean isServerHttp2;
  private boolean isServerKept;
  private boolean isClientKept;
  private boolean isTunnel;
  private boolean isRefused;

  private ResponseHead(
      HttpResponse head, JudgedRequest request, boolean isHttp2, boolean isServerHttp2) {
    this.head = head;
    this.request = request;
    this.isHttp2 = isHttp2;
    this.isServerHttp2 = isServerHttp2;
  }

  /**
   * Frames a response.
   *
   * @param head changed by this
   * @param isHttp2 what the client speaks
   * @param isServerHttp2 what the server speaks
   * @param isKept whether the connection of the client may stay
   */
  static ResponseHead of(
      HttpResponse head,
      JudgedRequest request,
      boolean isHttp2,
      boolean isServerHttp2,
      boolean isKept) {
    final ResponseHead response = new ResponseHead(head, request, isHttp2, isServerHttp2);
    response.read(isKept);
    return response;
  }

  /** Returns the head of a response that needs no change: both connections stay. */
  static ResponseHead asItCame(int status) {
    final ResponseHead response =
        new ResponseHead(
            new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(status)),
            null,
            false,
            false);
    response.isServerKept = true;
    response.isClientKept = true;
    return response;
  }

  private void read(boolean isKept) {
    final int status = status();
    final HttpHeaders headers = head.headers();
    if (status == SWITCHING) {
      isTunnel = true;
      isRefused =
          !request.isWebSocket()
              || !"websocket".equalsIgnoreCase(headers.get(HttpHeaderNames.UPGRADE));
      return;
    }
    if (status < OK) {
      isRefused = status < LEAST_STATUS;
      JudgedRequest.removeHopFields(headers);
      return;
    }
    if (request.isConnect() && status / 100 == 2) {
      isTunnel = true;
      isRefused = status != OK; // Netty reads the others as messages
      return;
    }
    frame(isKept);
  }

  private void frame(boolean isKept) {
    final HttpHeaders headers = head.headers();
    final boolean hasBody = !request.isHead() && status() != NO_CONTENT && status() != NOT_MODIFIED;
    final boolean isChunked = HttpUtil.isTransferEncodingChunked(head);
    isRefused = status() > MOST_STATUS || hasOtherCoding(headers);
    if (!isPhrase(head.status().reasonPhrase())) {
      head.setStatus(HttpResponseStatus.valueOf(status()));
    }
    final boolean isUntilClose =
        hasBody
            && !isServerHttp2
            && !isChunked
            && !headers.contains(HttpHeaderNames.CONTENT_LENGTH);
    final boolean isOld = request.isHttp10();
    isServerKept = HttpUtil.isKeepAlive(head) && !isUntilClose && !isOld;
    JudgedRequest.removeHopFields(headers);
    isClientKept = isKept && !isOld;
    if (isOld) {
      headers.remove(HttpHeaderNames.TRANSFER_ENCODING);
    } else if (isUntilClose) {
      headers.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
    }
    head.setProtocolVersion(HttpVersion.HTTP_1_1);
    if (!isClientKept && !isHttp2) {
      headers.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
  }

  /** Whether a reason may be passed on; clients do not read it (RFC 9112 section 4). */
  private static boolean isPhrase(String reason) {
    for (int i = 0; i < reason.length(); i++) {
      final char c = reason.charAt(i);
      if (c < ' ' && c != '\t' || c == 0x7f) {
        return false;
      }
    }
    return true;
  }

  /** No server is asked for any other coding (RFC 9110 section 10.1.4). */
  private static boolean hasOtherCoding(HttpHeaders headers) {
    final List<String> codings = headers.getAll(HttpHeaderNames.TRANSFER_ENCODING);
    return codings.size() > 1
        || codings.size() == 1 && !"chunked".equalsIgnoreCase(codings.getFirst());
  }

  /** Sends a response before the final one; HTTP/1.0 knows none. */
  void writeInformational(Channel client) {
    if (isHttp2) {
      client.writeAndFlush(
          new DefaultHttp2HeadersFrame(HttpConversionUtil.toHttp2Headers(head, true), false));
    } else if (!request.isHttp10()) {
      client.writeAndFlush(
          new DefaultFullHttpResponse(
              HttpVersion.HTTP_1_1,
              head.status(),
              Unpooled.EMPTY_BUFFER,
              head.headers(),
              EmptyHttpHeaders.INSTANCE));
    }
  }

  int status() {
    return head.status().code();
  }

  boolean isInformational() {
    return status() < OK && !isTunnel;
  }

  /** Returns whether both connections are tunnels after it. */
  boolean isTunnel() {
    return isTunnel;
  }

  /** Returns whether the request allows no such response. */
  boolean isRefused() {
    return isRefused;
  }

  boolean isServerKept() {
    return isServerKept;
  }

  boolean isClientKept() {
    return isClientKept;
  }
}
