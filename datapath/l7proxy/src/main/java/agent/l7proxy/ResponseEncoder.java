package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponseEncoder;

/** Writes responses, those to HEAD as well: none of theirs has a body or chunks here. */
final class ResponseEncoder extends HttpResponseEncoder {
  /** Bytes are a response that is written as it came. */
  @Override
  public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise)
      throws Exception {
    if (message instanceof ByteBuf) {
      ctx.write(message, promise);
    } else {
      super.write(ctx, message, promise);
    }
  }
}
