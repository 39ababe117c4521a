package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.util.ReferenceCountUtil;

/** The end of a connection to a server, or of a stream of one: it has one request at a time. */
final class ServerHandler extends ChannelInboundHandlerAdapter {
  private Exchange exchange;
  private JudgedRequest request;

  /** The response to this request comes next. */
  void begin(Exchange newExchange, JudgedRequest newRequest) {
    exchange = newExchange;
    request = newRequest;
  }

  /** No response comes next. */
  void end() {
    exchange = null;
    request = null;
  }

  /** Returns the request whose response comes next; null: there is none. */
  JudgedRequest request() {
    return request;
  }

  /** Returns whether the response may go to the client as it is. */
  boolean takesWhole() {
    return exchange != null && exchange.takesWhole();
  }

  /** The response, as the client gets it. */
  void whole(int status, ByteBuf bytes) {
    exchange.wholeResponse(status, bytes);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (exchange != null && message instanceof HttpObject part) {
      exchange.response(part);
      return;
    }
    ReferenceCountUtil.release(message);
    if (exchange == null) {
      ctx.close(); // what comes without a request is no response
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (exchange == null) {
      ctx.read(); // hears when the server closes
    } else {
      exchange.serverReadComplete();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (exchange != null && ctx.channel().isWritable()) {
      exchange.readClient();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      ctx.close();
    } else if (event instanceof Http2ResetFrame reset) {
      if (exchange != null) {
        exchange.serverReset(reset.errorCode());
      }
    } else {
      ctx.fireUserEventTriggered(event);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (exchange != null) {
      exchange.serverClosed("the server has closed the connection");
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }
}
