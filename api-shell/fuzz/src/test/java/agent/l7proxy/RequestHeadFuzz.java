package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.fuzz.FuzzInputs;
import agent.types.IpAddress;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Heads of HTTP/1 requests. One that is judged is sent on as another reader takes it: it is one
 * request of the same method, path, host and framing.
 */
public final class RequestHeadFuzz {
  /** Requests of each form of the target, with and without a body, and two in a row. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "GET /a/b?c=d HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
          "PUT /a/./b/../%41;x HTTP/1.1\r\nHost: [fd00::1]\r\nContent-Length: 3\r\n\r\nabc",
          "POST http://example.com/a HTTP/1.1\r\nhost: example.com\r\n"
              + "Transfer-Encoding: chunked\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\n\r\n0\r\n\r\n",
          "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
          "OPTIONS * HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
              + "HTTP2-Settings: AAMAAABk\r\n\r\n",
          "GET / HTTP/1.0\r\n\r\n");

  private static final IpAddress ADDRESS = IpAddress.parse("10.0.0.1");
  private static final RedirectedFlow FLOW =
      new RedirectedFlow(6, ADDRESS, 1000, 1, 1, ADDRESS, 80, 2, 2);

  private RequestHeadFuzz() {}

  /** Reads a head, and reads what is sent on of it. */
  public static void fuzzerTestOneInput(byte[] input) {
    final List<HttpRequest> heads = heads(Unpooled.wrappedBuffer(input));
    final JudgedRequest judged = heads.isEmpty() ? null : judged(heads.getFirst());
    if (judged == null) {
      return;
    }
    final boolean isHostNamed = judged.head().headers().contains(HttpHeaderNames.HOST);
    judged.toHttp11(FLOW);
    final ByteBuf sent = sent(judged.head());
    final String text = sent.toString(StandardCharsets.ISO_8859_1);
    final List<HttpRequest> again = heads(sent);
    FuzzInputs.assertSame(1, again.size(), text);
    final List<Object> meaning =
        meaning(judged, isHostNamed ? judged.host() : FLOW.server().toString());
    final JudgedRequest read = judged(again.getFirst());
    if (read == null) {
      throw new AssertionError("what is sent on is refused: " + text);
    }
    FuzzInputs.assertSame(meaning, meaning(read, read.host()), text);
    FuzzInputs.assertSame(false, read.isHttp10(), text);
    if (judged.path().matches("(?i)[^?]*(/\\.{1,2}([/?].*)?|%2f.*|%5c.*|\\\\.*)")) {
      throw new AssertionError("servers read this path in different ways: " + judged.path());
    }
  }

  /** Returns a head as a server of HTTP/1.1 gets it. */
  static String text(HttpRequest head) {
    return sent(head).toString(StandardCharsets.ISO_8859_1);
  }

  /** Returns how many requests another reader takes a text for. */
  static int count(String text) {
    return heads(Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1)).size();
  }

  private static List<HttpRequest> heads(ByteBuf bytes) {
    final EmbeddedChannel channel = new EmbeddedChannel();
    channel.pipeline().addLast(new RequestDecoder(connection(channel)));
    final List<HttpRequest> heads = new ArrayList<>();
    channel.writeInbound(bytes);
    for (Object message = channel.readInbound(); message != null; message = channel.readInbound()) {
      if (message instanceof HttpRequest head) {
        heads.add(head);
      }
      ReferenceCountUtil.release(message);
    }
    channel.finishAndReleaseAll();
    return heads;
  }

  /** Returns a connection without time limits, which the decoder starts and stops. */
  private static ClientConnection connection(Channel client) {
    final HttpProxyContext context = new HttpProxyContext().headTimeout(Duration.ZERO);
    final CountedConnection counted = new ProxyConnections(1).add(FLOW, client);
    return new ClientConnection(context, null, 0, client, null, counted, null);
  }

  private static JudgedRequest judged(HttpRequest head) {
    try {
      return JudgedRequest.of(head, false, false, EscapedSlashes.REJECT);
    } catch (BadRequestException refused) {
      return null;
    }
  }

  private static ByteBuf sent(HttpRequest head) {
    final EmbeddedChannel channel = new EmbeddedChannel(new HttpRequestEncoder());
    channel.writeOutbound(head);
    final ByteBuf written = channel.readOutbound();
    final ByteBuf bytes = Unpooled.copiedBuffer(written);
    written.release();
    channel.finishAndReleaseAll();
    return bytes;
  }

  private static List<Object> meaning(JudgedRequest request, String host) {
    final List<Map.Entry<String, String>> fields = new ArrayList<>();
    for (final var name :
        List.of(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderNames.TRANSFER_ENCODING)) {
      for (final String value : request.head().headers().getAll(name)) {
        fields.add(Map.entry(name.toString(), value));
      }
    }
    return List.of(request.method(), request.path(), host, request.isWebSocket(), fields);
  }
}
