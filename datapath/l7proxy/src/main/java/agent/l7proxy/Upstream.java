package agent.l7proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.types.IpAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2GoAwayFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The connection to the server of one client connection: opened for the first request that is
 * allowed, kept for the next ones, and opened again when it is closed, by the server or because its
 * descriptor was taken while no request used it. A client that has changed to HTTP/2 has one for
 * each request at a time: its server is known to speak HTTP/1.1 only.
 */
final class Upstream {
  private static final int LONGEST_RESPONSE_HEAD = 64 * 1024;
  private static final int MOST_SHARED = 8;

  private final HttpProxyContext context;
  private final RedirectedFlow flow;
  private final CountedConnection counted;
  private final Channel client;
  private final boolean isHttp2;

  /** HTTP/1: the open connection that no request uses; HTTP/2: the one that new streams use. */
  private Channel kept;

  /** HTTP/2: requests that wait for the connection. */
  private List<Exchange> waiting = new ArrayList<>(0);

  /** More connections of HTTP/1 that no request uses, where streams share them; else null. */
  private Deque<Channel> shared;

  /** HTTP/2: how many streams the kept connection has. */
  private int streams;

  private boolean isConnecting;
  private boolean isClosed;

  Upstream(
      HttpProxyContext context,
      RedirectedFlow flow,
      CountedConnection counted,
      Channel client,
      boolean isHttp2) {
    this.context = context;
    this.flow = flow;
    this.counted = counted;
    this.client = client;
    this.isHttp2 = isHttp2;
  }

  boolean isHttp2() {
    return isHttp2;
  }

  /** Allows several concurrent requests to have a connection of HTTP/1 each. */
  void share() {
    shared = new ArrayDeque<>();
  }

  /** Forgets a connection that is closed. */
  private void closed(Channel channel) {
    if (kept == channel) {
      kept = null;
    } else if (shared != null) {
      shared.remove(channel);
    }
  }

  /** Returns whether a request can use a connection from now on. */
  private static boolean begin(Channel channel) {
    return channel.isActive() && CountedConnection.of(channel).begin();
  }

  /** Calls {@link Exchange#connected} or {@link Exchange#notConnected}, now or later. */
  void open(Exchange exchange) {
    if (isHttp2) {
      if (kept != null && begin(kept)) {
        openStream(kept, exchange);
        return;
      }
      waiting.add(exchange);
      if (!isConnecting) {
        isConnecting = true;
        connect(null);
      }
      return;
    }
    Channel channel = kept;
    kept = null;
    if (channel == null && shared != null) {
      channel = shared.poll();
    }
    while (channel != null && !begin(channel)) {
      channel = shared == null ? null : shared.poll();
    }
    if (channel != null) {
      exchange.connected(channel);
    } else {
      connect(exchange);
    }
  }

  /** Keeps a connection whose response has ended. */
  void keep(Channel channel) {
    final boolean isTaken = kept != null && kept.isActive();
    if (!isClosed && !isTaken) {
      kept = channel;
      CountedConnection.of(channel).idle();
    } else if (!isClosed && shared != null && shared.size() < MOST_SHARED) {
      shared.push(channel);
      CountedConnection.of(channel).idle();
    } else {
      channel.close();
    }
  }

  void close() {
    isClosed = true;
    if (kept != null) {
      kept.close();
    }
    if (shared != null) {
      List.copyOf(shared).forEach(Channel::close);
    }
  }

  /** Ends all connections with what their sockets hold. */
  void reset() {
    isClosed = true;
    if (kept != null) {
      reset(kept);
    }
    if (shared != null) {
      List.copyOf(shared).forEach(Upstream::reset);
    }
  }

  /** Closes a connection so that what its socket holds is not sent, or ends a stream. */
  static void reset(Channel channel) {
    if (channel instanceof SocketChannel && channel.isOpen()) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    channel.close();
  }

  private void connect(Exchange exchange) {
    final CountedConnection server = counted.addServer();
    if (server == null) {
      notOpened(exchange, null);
      return;
    }
    final ChannelFuture registered =
        new Bootstrap()
            .group(client.eventLoop())
            .channelFactory(context.transport().connection())
            .option(ChannelOption.ALLOCATOR, client.alloc())
            .option(ChannelOption.AUTO_READ, isHttp2)
            .option(ChannelOption.ALLOW_HALF_CLOSURE, !isHttp2)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.RECVBUF_ALLOCATOR, HttpProxy.receiveBuffers())
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) context.connectTimeout().toMillis())
            .handler(pipeline())
            .register();
    final Channel channel = registered.channel();
    server.channel(channel);
    channel.closeFuture().addListener(closed -> closed(channel));
    registered.addListener(
        done -> {
          if (!done.isSuccess()) {
            server.release(); // what has no event loop is not closed
            ended(exchange, null, done.cause());
          } else if (flow.serverEndpoint() == 0) {
            connectSocket(exchange, channel);
          } else {
            bindAndJoin(exchange, channel);
          }
        });
  }

  private void notOpened(Exchange exchange, Throwable cause) {
    if (isHttp2) {
      isConnecting = false;
      takeWaiting().forEach(each -> each.notConnected(cause));
    } else {
      exchange.notConnected(cause);
    }
  }

  private List<Exchange> takeWaiting() {
    final List<Exchange> all = waiting;
    waiting = new ArrayList<>(0);
    return all;
  }

  private ChannelInitializer<Channel> pipeline() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        context.transport().limitInput(channel.pipeline());
        if (isHttp2) {
          channel
              .pipeline()
              .addLast(
                  Http2FrameCodecBuilder.forClient()
                      .initialSettings(
                          Http2Settings.defaultSettings()
                              .pushEnabled(false)
                              .maxHeaderListSize(LONGEST_RESPONSE_HEAD))
                      .encoderEnforceMaxConcurrentStreams(true)
                      .gracefulShutdownTimeoutMillis(0)
                      .build(),
                  new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()),
                  new GoAwayHandler());
        } else {
          addHttp1(channel.pipeline());
        }
      }
    };
  }

  /** Adds what speaks HTTP/1 with a server. */
  static void addHttp1(ChannelPipeline pipeline) {
    final ServerHandler handler = new ServerHandler();
    pipeline.addLast(new ResponseDecoder(handler), new HttpRequestEncoder(), handler);
  }

  /** The server is an endpoint of this node: it shall see the address of the client. */
  private void bindAndJoin(Exchange exchange, Channel channel) {
    final IpAddress own = context.redirect().address(flow.server().isIpv6()).orElse(null);
    if (own == null) {
      ended(
          exchange,
          channel,
          new IOException("the address family of " + flow.server() + " is disabled"));
      return;
    }
    channel
        .bind(own.withPort(0))
        .addListener(
            bound -> {
              if (bound.isSuccess()) {
                join(exchange, channel);
              } else {
                ended(exchange, channel, bound.cause());
              }
            });
  }

  private void join(Exchange exchange, Channel channel) {
    final int port = ((InetSocketAddress) channel.localAddress()).getPort();
    channel.closeFuture().addListener(closed -> context.redirect().leave(flow, port));
    final CompletableFuture<Void> joined;
    try {
      joined = context.redirect().join(flow, port);
    } catch (RuntimeException e) {
      ended(exchange, channel, e);
      return;
    }
    joined
        .thenApply(nothing -> nothing) // the time limit is for this use of the future
        .orTimeout(context.connectTimeout().toMillis(), TimeUnit.MILLISECONDS)
        .whenComplete(
            (nothing, failure) ->
                channel
                    .eventLoop()
                    .execute(
                        () -> {
                          if (failure == null) {
                            connectSocket(exchange, channel);
                          } else {
                            ended(exchange, channel, failure);
                          }
                        }));
  }

  private void connectSocket(Exchange exchange, Channel channel) {
    if (isClosed) {
      ended(exchange, channel, null); // the flow may be denied since
      return;
    }
    final Optional<String> refusal = context.redirect().refusal(flow);
    if (refusal.isPresent()) {
      ended(exchange, channel, new IOException(refusal.get()));
      return;
    }
    channel
        .connect(flow.server().withPort(flow.serverPort()))
        .addListener(done -> ended(exchange, channel, done.isSuccess() ? null : done.cause()));
  }

  /** An attempt has ended, with an open connection where there is no failure. */
  private void ended(Exchange exchange, Channel channel, Throwable failure) {
    if (channel != null && (failure != null || isClosed)) {
      channel.close();
    }
    final Throwable cause =
        failure == null && isClosed ? new IOException("the client has closed") : failure;
    if (cause != null) {
      notOpened(exchange, cause);
    } else if (isHttp2) {
      isConnecting = false;
      kept = channel;
      streams = 0;
      takeWaiting().forEach(each -> openStream(channel, each));
    } else {
      exchange.connected(channel);
    }
  }

  private void openStream(Channel channel, Exchange exchange) {
    streams++;
    new Http2StreamChannelBootstrap(channel)
        .handler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel stream) {
                stream.config().setAutoRead(false);
                stream
                    .pipeline()
                    .addLast(new Http2StreamFrameToHttpObjectCodec(false), new ServerHandler());
              }
            })
        .open()
        .addListener(
            done -> {
              if (done.isSuccess()) {
                final Channel stream = (Channel) done.getNow();
                stream.closeFuture().addListener(closed -> streamEnded(channel));
                exchange.connected(stream);
              } else {
                streamEnded(channel);
                exchange.notConnected(done.cause());
              }
            });
  }

  /** A connection without streams is idle; one that is no more kept closes. */
  private void streamEnded(Channel channel) {
    if (channel == kept) {
      streams--;
      if (streams == 0) {
        CountedConnection.of(channel).idle();
      }
    }
  }

  /** After GOAWAY new requests have another connection; this one closes after its last stream. */
  private final class GoAwayHandler extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      if (message instanceof Http2GoAwayFrame) {
        if (kept == ctx.channel()) {
          kept = null;
        }
        ctx.pipeline().get(Http2FrameCodec.class).gracefulShutdownTimeoutMillis(-1);
        ctx.close();
      }
      ReferenceCountUtil.release(message);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }
}
