package agent.l7proxy;

import agent.fuzz.FuzzInputs;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Responses of HTTP/1 servers. The client gets one response, of the same status and body; one that
 * is passed on as it came is what would be written of it.
 */
public final class ResponseHeadFuzz {
  /** Responses of each framing, without a body, before another one, and of a tunnel. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nok",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX: y\r\n\r\n",
          "HTTP/1.1 404 No\r\nServer: x\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
          "HTTP/1.0 200 OK\r\n\r\nuntil the end",
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nx",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "HTTP/1.1 304 No\6\0\177\r\nETag: \"x\"\r\n\r\n",
          "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nETag: \"x\"\r\n\r\n");

  private ResponseHeadFuzz() {}

  /** Reads a response, and reads what the client gets of it. */
  public static void fuzzerTestOneInput(byte[] input) throws BadRequestException {
    final EmbeddedChannel server = new EmbeddedChannel();
    final JudgedRequest request = JudgedRequest.of(get(), false, false, EscapedSlashes.REJECT);
    final ServerHandler handler = new ServerHandler();
    handler.begin(null, request);
    server.pipeline().addLast(new ResponseDecoder(handler));
    server.writeInbound(Unpooled.wrappedBuffer(input));
    final EmbeddedChannel client = new EmbeddedChannel(new ResponseEncoder());
    Integer status = null;
    boolean isWhole = false;
    final StringBuilder body = new StringBuilder();
    for (HttpObject part = server.readInbound();
        part != null && !isWhole;
        part = server.readInbound()) {
      if (part.decoderResult().isFailure() || status == null && !(part instanceof HttpResponse)) {
        ReferenceCountUtil.release(part);
        break;
      }
      if (part instanceof HttpResponse head) {
        final ResponseHead read = ResponseHead.of(head, request, false, false, true);
        if (read.isRefused() || read.isInformational() || read.isTunnel()) {
          ReferenceCountUtil.release(part);
          break;
        }
        status = head.status().code();
      }
      if (part instanceof HttpContent content) {
        body.append(content.content().toString(StandardCharsets.ISO_8859_1));
        isWhole = part instanceof LastHttpContent;
      }
      WaitingBody.removeTrailers(part, List.of());
      client.writeOutbound(part);
    }
    final String text = written(client);
    if (isWhole) {
      check(status, body.toString(), text);
    }
    final ByteBuf passed = Unpooled.copiedBuffer(input);
    final int passedStatus = WholeResponse.read(passed);
    if (passedStatus != 0) {
      FuzzInputs.assertSame(status, passedStatus, text);
      FuzzInputs.assertSame(text, passed.toString(StandardCharsets.ISO_8859_1), "as it came");
    }
    server.finishAndReleaseAll();
    client.finishAndReleaseAll();
  }

  private static DefaultFullHttpRequest get() {
    final DefaultFullHttpRequest get =
        new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/");
    get.headers().set(HttpHeaderNames.HOST, "a");
    return get;
  }

  private static String written(EmbeddedChannel client) {
    final StringBuilder text = new StringBuilder();
    for (ByteBuf bytes = client.readOutbound(); bytes != null; bytes = client.readOutbound()) {
      text.append(bytes.toString(StandardCharsets.ISO_8859_1));
      bytes.release();
    }
    return text.toString();
  }

  private static void check(int status, String body, String text) {
    final EmbeddedChannel reader = new EmbeddedChannel(new HttpResponseDecoder());
    reader.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1));
    reader.finish();
    final List<Integer> statuses = new ArrayList<>();
    final StringBuilder read = new StringBuilder();
    for (HttpObject part = reader.readInbound(); part != null; part = reader.readInbound()) {
      FuzzInputs.assertSame(false, part.decoderResult().isFailure(), text);
      if (part instanceof HttpResponse head) {
        statuses.add(head.status().code());
        final boolean isChunked = head.headers().contains(HttpHeaderNames.TRANSFER_ENCODING);
        final int lengths = head.headers().getAll(HttpHeaderNames.CONTENT_LENGTH).size();
        FuzzInputs.assertSame(true, lengths + (isChunked ? 1 : 0) <= 1, text);
      }
      if (part instanceof HttpContent content) {
        read.append(content.content().toString(StandardCharsets.ISO_8859_1));
      }
      ReferenceCountUtil.release(part);
    }
    FuzzInputs.assertSame(List.of(status), statuses, text);
    // A response 205 has no content, whatever the server sends with it (RFC 9110 section 15.3.6).
    FuzzInputs.assertSame(status == 205 ? "" : body, read.toString(), text);
    final String head = text.substring(0, text.indexOf("\r\n\r\n") + 2);
    final ByteBuf lines = Unpooled.copiedBuffer(head, StandardCharsets.ISO_8859_1);
    for (int from = head.indexOf('\n') + 1; from < head.length(); ) {
      final int end = head.indexOf('\n', from);
      final String problem = HeadCheck.problem(lines, from, end, false);
      FuzzInputs.assertSame("null", String.valueOf(problem), text);
      from = end + 1;
    }
  }
}
