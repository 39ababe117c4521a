package agent.l7proxy;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;

/** Responses of the proxy itself. */
final class LocalReply {
  static final String DENIED = "Access denied";
  static final String NO_SERVER = "The server could not be reached";
  static final String BAD_RESPONSE = "The response of the server is not valid";
  static final String TIMEOUT = "The server has not answered in time";
  private static final int GRPC_DEADLINE_EXCEEDED = 4;

  private LocalReply() {}

  /**
   * Returns a response with a text.
   *
   * @param isHead whether the body is left out
   */
  static FullHttpResponse text(
      HttpResponseStatus status, String text, boolean isHead, boolean closes) {
    final byte[] body = text.getBytes(StandardCharsets.US_ASCII);
    final FullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            status,
            isHead ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(body));
    response
        .headers()
        .set(HttpHeaderNames.CONTENT_TYPE, "text/plain")
        .set(HttpHeaderNames.CONTENT_LENGTH, body.length);
    if (closes) {
      response.headers().set(HttpHeaderNames.CONNECTION, "close");
    }
    return response;
  }

  /** Returns the response without messages that says that a gRPC request took too long. */
  static FullHttpResponse grpcTimeout() {
    final FullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.EMPTY_BUFFER);
    setGrpcTimeout(response.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/grpc"));
    return response;
  }

  /** Returns the end of a response that says so. */
  static LastHttpContent grpcTimeoutAtEnd() {
    final LastHttpContent end = new DefaultLastHttpContent();
    setGrpcTimeout(end.trailingHeaders());
    return end;
  }

  private static void setGrpcTimeout(HttpHeaders fields) {
    fields.set("grpc-status", GRPC_DEADLINE_EXCEEDED).set("grpc-message", TIMEOUT);
  }
}
