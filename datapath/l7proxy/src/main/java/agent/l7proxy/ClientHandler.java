package agent.l7proxy;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The end of a client's connection (HTTP/1), or of one stream of it (HTTP/2). */
final class ClientHandler extends ChannelInboundHandlerAdapter {
  private static final Logger LOGGER = LogManager.getLogger(ClientHandler.class);

  /** How long a client may send on after the last answer, so that it reads that answer. */
  private static final long LINGER_MS = 1_000;

  private final ClientConnection connection;
  private final RequestDecoder decoder;
  private final ResponseEncoder encoder;
  private Exchange exchange;
  private boolean hasAsked;

  /** The settings of a client whose request offers to go on with HTTP/2; null: it does not. */
  private Http2Settings offered;

  private boolean isInputClosed;
  private boolean isClosing;

  /** All answers are written, and what the client still sends is forgotten. */
  private boolean isLingering;

  /** Answers wait for the client to read them, and its next request for that. */
  private boolean isUnread;

  private ClientHandler(
      ClientConnection connection, RequestDecoder decoder, ResponseEncoder encoder) {
    this.connection = connection;
    this.decoder = decoder;
    this.encoder = encoder;
  }

  static ClientHandler ofHttp1(
      ClientConnection connection, RequestDecoder decoder, ResponseEncoder encoder) {
    return new ClientHandler(connection, decoder, encoder);
  }

  static ClientHandler ofHttp2Stream(ClientConnection connection) {
    return new ClientHandler(connection, null, null);
  }

  ClientConnection connection() {
    return connection;
  }

  boolean isHttp2() {
    return decoder == null;
  }

  /** Returns whether the next request waits in memory, so that nothing more is to be read. */
  boolean isNextWaiting() {
    return decoder == null || decoder.hasMore();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    ctx.read();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (isClosing) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (message instanceof HttpRequest head && exchange == null) {
      if (!connection.begin()) {
        refuse(ctx.channel());
        ReferenceCountUtil.release(message);
        return;
      }
      exchange = new Exchange(this, ctx.channel());
      hasAsked = true;
      if (encoder != null) {
        offered = decoder.hasMore() ? null : Http2Upgrade.offered(head);
      }
      if (head instanceof FullHttpRequest full) {
        exchange.start(withoutBody(full), true); // a stream of HTTP/2 that ends with its head
        full.release();
        return;
      }
      exchange.start(head, false);
    }
    if (message instanceof HttpContent body && exchange != null) {
      exchange.content(body);
    } else {
      ReferenceCountUtil.release(message);
    }
  }

  /** The connection is being closed for another one, since it was idle: nothing was judged. */
  private void refuse(Channel client) {
    isClosing = true;
    if (decoder == null) {
      client.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.REFUSED_STREAM));
    }
  }

  /** Returns whether HTTP/2 follows when the request is allowed and has ended. */
  boolean isUpgrading() {
    return offered != null;
  }

  /** Goes on with HTTP/2: the request is the first stream. */
  void upgrade(Channel client) {
    final Exchange upgraded = exchange;
    exchange = null;
    connection.upstream().share();
    client.writeAndFlush(Http2Upgrade.response());
    client.pipeline().remove(this);
    client.pipeline().remove(encoder);
    client.pipeline().remove(decoder);
    try {
      final Channel stream = Http2Connection.upgrade(client, connection, offered);
      final ClientHandler handler = stream.pipeline().get(ClientHandler.class);
      handler.exchange = upgraded;
      handler.hasAsked = true;
      upgraded.moved(handler, stream);
    } catch (Http2Exception e) {
      LOGGER.debug("{}: {}", connection.flow(), e.getMessage());
      upgraded.clientClosed();
      client.close();
    }
  }

  private static HttpRequest withoutBody(FullHttpRequest full) {
    return new DefaultHttpRequest(
        full.protocolVersion(), full.method(), full.uri(), full.headers());
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (exchange == null) {
      if (!isUnread) {
        ctx.read();
      }
    } else {
      exchange.clientReadComplete();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (!ctx.channel().isWritable()) {
      return;
    }
    if (exchange != null) {
      exchange.readServer();
    } else if (isUnread) {
      next(ctx.channel());
    }
  }

  /** A request and its response have ended. */
  void ended(Channel client, boolean isKept) {
    connection.left(exchange);
    exchange = null;
    if (decoder == null) {
      return;
    }
    if (!isKept || isInputClosed && !decoder.hasMore()) {
      close(client);
      return;
    }
    if (client.isWritable()) {
      next(client);
    } else {
      isUnread = true;
    }
  }

  private void next(Channel client) {
    isUnread = false;
    decoder.resume();
    if (exchange == null) {
      connection.ended();
      connection.idle().start(client::close);
    }
    client.read();
  }

  /** Ends the connection or the stream after what was written. */
  void close(Channel client) {
    connection.left(exchange);
    exchange = null;
    if (isClosing) {
      return;
    }
    isClosing = true;
    if (decoder == null) {
      client.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.NO_ERROR));
      return;
    }
    client
        .writeAndFlush(Unpooled.EMPTY_BUFFER)
        .addListener(
            written -> {
              if (isInputClosed || !written.isSuccess()) {
                client.close();
                return;
              }
              isLingering = true;
              decoder.discard();
              ((SocketChannel) client).shutdownOutput();
              client.config().setAutoRead(true);
              client.eventLoop().schedule(() -> client.close(), LINGER_MS, TimeUnit.MILLISECONDS);
            });
  }

  /** Ends the connection or the stream within a response, so that the client sees that. */
  void abort(Channel client, Http2Error error) {
    connection.left(exchange);
    exchange = null;
    isClosing = true;
    if (decoder == null) {
      client.writeAndFlush(new DefaultHttp2ResetFrame(error));
    } else {
      ((SocketChannel) client).config().setSoLinger(0);
      client.close();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      isInputClosed = true;
      if (isLingering || isHttp2()) {
        ctx.close();
      } else if (exchange != null) {
        exchange.clientInputClosed();
      } else {
        close(ctx.channel());
      }
    } else if (event instanceof Http2ResetFrame) {
      channelInactive(ctx);
    } else {
      ctx.fireUserEventTriggered(event);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    isClosing = true;
    final Exchange ended = exchange;
    connection.left(ended);
    exchange = null;
    if (ended != null) {
      ended.clientClosed();
    }
  }

  /** A head of HTTP/2 that could not be read is refused like one of HTTP/1. */
  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    LOGGER.debug("{}: {}", connection.flow(), cause.toString());
    if (isHttp2() && !hasAsked && !isClosing) {
      hasAsked = true;
      exchange = new Exchange(this, ctx.channel());
      exchange.start(RequestDecoder.failed(BadRequestException.of(cause)), false);
    } else {
      channelInactive(ctx);
      ctx.close();
    }
  }
}
