package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.List;

/**
 * Reads the responses of a server with Netty's decoder, but for those that go to the client as they
 * are: {@link WholeResponse}.
 */
final class ResponseDecoder extends HttpResponseDecoder {
  private static final int LONGEST_HEAD = 64 * 1024;

  private final ServerHandler handler;

  /** A part of a response was read, and not all of it; also where that is not certain. */
  private boolean isWithin;

  ResponseDecoder(ServerHandler handler) {
    super(
        new HttpDecoderConfig()
            .setMaxInitialLineLength(LONGEST_HEAD)
            .setMaxHeaderSize(LONGEST_HEAD)
            .setMaxChunkSize(16 * 1024)
            .setInitialBufferSize(64));
    this.handler = handler;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
    if (!isWithin && message instanceof ByteBuf bytes && handler.takesWhole()) {
      final int status = WholeResponse.read(bytes);
      if (status != 0) {
        handler.whole(status, bytes);
        return;
      }
    }
    super.channelRead(ctx, message);
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
    isWithin = true;
    super.decode(ctx, in, out);
    if (!out.isEmpty()
        && out.getLast() instanceof LastHttpContent last
        && last.decoderResult().isSuccess()) {
      isWithin = false;
    }
  }

  /** Only the request tells whether a response has a body (RFC 9112 section 6.3). */
  @Override
  protected boolean isContentAlwaysEmpty(HttpMessage message) {
    final JudgedRequest request = handler.request();
    final int status = ((HttpResponse) message).status().code();
    return request != null && (request.isHead() || request.isConnect() && status == 200)
        || super.isContentAlwaysEmpty(message);
  }
}
