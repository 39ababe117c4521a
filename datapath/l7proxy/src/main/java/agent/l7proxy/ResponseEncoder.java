package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;

/** Writes responses; one to HEAD has no body, whatever its header says. */
final class ResponseEncoder extends HttpResponseEncoder {
  private boolean isHead;

  /** Sets whether the next response answers HEAD. */
  void answersHead(boolean value) {
    isHead = value;
  }

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

  @Override
  protected boolean isContentAlwaysEmpty(HttpResponse response) {
    return isHead || super.isContentAlwaysEmpty(response);
  }
}
