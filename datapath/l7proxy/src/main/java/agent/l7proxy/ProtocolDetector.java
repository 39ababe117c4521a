package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Distinguishes HTTP/2 with prior knowledge from HTTP/1 by its preface (RFC 9113 section 3.4). */
final class ProtocolDetector extends ByteToMessageDecoder {
  private static final Logger LOGGER = LogManager.getLogger(ProtocolDetector.class);
  private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n".getBytes(StandardCharsets.US_ASCII);

  private final ClientConnection connection;

  ProtocolDetector(ClientConnection connection) {
    this.connection = connection;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) throws Exception {
    super.channelActive(ctx);
    connection.head().start(() -> expired(ctx));
    ctx.read();
  }

  private void expired(ChannelHandlerContext ctx) {
    LOGGER.debug("{}: the protocol could not be detected in time", connection.flow());
    ctx.close();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) throws Exception {
    super.userEventTriggered(ctx, event);
    if (event instanceof ChannelInputShutdownEvent && !ctx.isRemoved()) {
      ctx.close();
    }
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
    final int length = Math.min(in.readableBytes(), PREFACE.length);
    for (int i = 0; i < length; i++) {
      if (in.getByte(in.readerIndex() + i) != PREFACE[i]) {
        http1(ctx);
        return;
      }
    }
    if (length == PREFACE.length) {
      http2(ctx);
    }
  }

  private void http1(ChannelHandlerContext ctx) {
    connection.protocol(ctx.channel(), false);
    final RequestDecoder decoder = new RequestDecoder(connection);
    final ResponseEncoder encoder = new ResponseEncoder();
    ctx.pipeline()
        .addLast(decoder, encoder, ClientHandler.ofHttp1(connection, decoder, encoder))
        .remove(this);
  }

  private void http2(ChannelHandlerContext ctx) {
    connection.protocol(ctx.channel(), true);
    Http2Connection.start(ctx.channel(), connection);
    ctx.pipeline().remove(this);
  }
}
