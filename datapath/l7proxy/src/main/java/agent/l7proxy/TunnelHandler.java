package agent.l7proxy;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Copies bytes from one connection to the other, after CONNECT or for a WebSocket. */
final class TunnelHandler extends ChannelInboundHandlerAdapter {
  private final Channel peer;
  private final Duration idleTimeout;
  private final Ticker ticker;

  /** This end sends no more, and the other one has got all of it. */
  private boolean isPassed;

  private long trafficNs;
  private TunnelHandler other;

  private TunnelHandler(Channel peer, Duration idleTimeout, Ticker ticker) {
    this.peer = peer;
    this.idleTimeout = idleTimeout;
    this.ticker = ticker;
    trafficNs = ticker.nanoTime();
  }

  /** Makes two connections a tunnel; what either end has read already goes to the other one. */
  static void join(Channel client, Channel server, Duration idleTimeout) {
    final Ticker ticker = client.eventLoop().ticker();
    final TunnelHandler ofClient = new TunnelHandler(server, idleTimeout, ticker);
    final TunnelHandler ofServer = new TunnelHandler(client, idleTimeout, ticker);
    ofClient.other = ofServer;
    ofServer.other = ofClient;
    client.pipeline().remove(ClientHandler.class);
    client.pipeline().remove(ResponseEncoder.class);
    client.pipeline().addLast(ofClient);
    server.pipeline().remove(ServerHandler.class);
    server.pipeline().remove(HttpRequestEncoder.class);
    server.pipeline().addLast(ofServer);
    // A decoder passes on what it has read when it is removed: then no encoder is left.
    server.pipeline().remove(ResponseDecoder.class);
    client.pipeline().remove(RequestDecoder.class);
    client.read();
    server.read();
    if (idleTimeout.isPositive()) {
      ofClient.watch(client, idleTimeout.toNanos());
    }
  }

  private void watch(Channel channel, long delayNs) {
    channel
        .eventLoop()
        .schedule(
            () -> {
              final long last = Math.max(trafficNs, other.trafficNs);
              final long leftNs = idleTimeout.toNanos() - (ticker.nanoTime() - last);
              if (!channel.isActive()) {
                return;
              }
              if (leftNs <= 0) {
                channel.close();
              } else {
                watch(channel, leftNs);
              }
            },
            delayNs,
            TimeUnit.NANOSECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    trafficNs = ticker.nanoTime();
    peer.write(message);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    peer.flush();
    if (peer.isWritable()) {
      ctx.read();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (ctx.channel().isWritable()) {
      peer.read();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      peer.writeAndFlush(Unpooled.EMPTY_BUFFER)
          .addListener(
              written -> {
                isPassed = true;
                if (other.isPassed) {
                  peer.close();
                  ctx.close();
                } else {
                  ((SocketChannel) peer).shutdownOutput();
                }
              });
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    peer.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(written -> peer.close());
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }
}
