package agent.l7proxy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2SettingsFrame;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A server of HTTP/2: its paths say what it answers. */
final class Http2Server implements AutoCloseable {
  private static final int LONGEST_HEAD = 64 * 1024;

  final List<Http2Headers> requests = new CopyOnWriteArrayList<>();
  final List<Http2Headers> trailers = new CopyOnWriteArrayList<>();

  /** Those of its clients, in the order in which they came. */
  final List<Http2Settings> settings = new CopyOnWriteArrayList<>();

  final AtomicInteger connections = new AtomicInteger();

  /** Its connections, the oldest first. */
  final List<Channel> accepted = new CopyOnWriteArrayList<>();

  /** How many bytes it has written of long responses. */
  final AtomicLong poured = new AtomicLong();

  /** Whether it reads the bodies of {@code /count} that come from now on. */
  volatile boolean reads = true;

  private final List<Runnable> later = new CopyOnWriteArrayList<>();
  private final List<Channel> unread = new CopyOnWriteArrayList<>();
  private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final Channel listener;

  Http2Server() {
    this(Http2Settings.defaultSettings());
  }

  Http2Server(Http2Settings own) {
    own.maxHeaderListSize(LONGEST_HEAD);
    listener =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel made) {
                    connections.incrementAndGet();
                    accepted.add(made);
                    made.pipeline()
                        .addLast(
                            Http2FrameCodecBuilder.forServer().initialSettings(own).build(),
                            new Http2MultiplexHandler(
                                new ChannelInitializer<Channel>() {
                                  @Override
                                  protected void initChannel(Channel stream) {
                                    stream.pipeline().addLast(new Stream());
                                  }
                                }),
                            new SettingsHandler());
                  }
                })
            .bind("127.0.0.1", 0)
            .syncUninterruptibly()
            .channel();
  }

  int port() {
    return ((InetSocketAddress) listener.localAddress()).getPort();
  }

  /** Answers the requests of {@code /later} that there are. */
  void answerLater() {
    later.forEach(Runnable::run);
    later.clear();
  }

  /** Asks for no more streams on one of its connections, which it does not close. */
  void goAway(int connection) {
    accepted
        .get(connection)
        .writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR))
        .syncUninterruptibly();
  }

  /** Reads all bodies from now on. */
  void resume() {
    reads = true;
    unread.forEach(stream -> stream.config().setAutoRead(true));
  }

  @Override
  public void close() {
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
  }

  /** Records the settings of a client. */
  private final class SettingsHandler extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      if (message instanceof Http2SettingsFrame frame) {
        settings.add(frame.settings());
      }
      ReferenceCountUtil.release(message);
    }
  }

  private final class Stream extends ChannelInboundHandlerAdapter {
    private String path;
    private final StringBuilder body = new StringBuilder();
    private long left;
    private long length;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      boolean isEnd = false;
      if (message instanceof Http2HeadersFrame head) {
        if (path == null) {
          requests.add(head.headers());
          path = head.headers().path().toString();
          if (path.equals("/count") && !reads) {
            ctx.channel().config().setAutoRead(false);
            unread.add(ctx.channel());
          }
        } else {
          trailers.add(head.headers());
        }
        isEnd = head.isEndStream();
      } else if (message instanceof Http2DataFrame part) {
        if (path.equals("/count")) {
          length += part.content().readableBytes();
        } else {
          body.append(part.content().toString(StandardCharsets.US_ASCII));
        }
        isEnd = part.isEndStream();
      }
      ReferenceCountUtil.release(message);
      if (path.equals("/reset")) {
        ctx.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.ENHANCE_YOUR_CALM));
      } else if (isEnd && path.equals("/later")) {
        later.add(() -> ctx.executor().execute(() -> answer(ctx)));
      } else if (isEnd && !path.equals("/never")) {
        answer(ctx);
      }
    }

    private void answer(ChannelHandlerContext ctx) {
      final Http2Headers head = new DefaultHttp2Headers().status("200");
      if (path.equals("/trailers-only")) {
        ctx.writeAndFlush(new DefaultHttp2HeadersFrame(head.set("grpc-status", "5"), true));
        return;
      }
      if (path.startsWith("/head/")) {
        head.set("x", "x".repeat(Integer.parseInt(path.substring(6))));
      }
      if (path.startsWith("/early")) {
        ctx.write(new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().status("103"), false));
      }
      ctx.write(new DefaultHttp2HeadersFrame(head, false));
      if (path.startsWith("/size/")) {
        left = Long.parseLong(path.substring(6));
        pour(ctx);
        return;
      }
      ctx.write(
          new DefaultHttp2DataFrame(
              Unpooled.copiedBuffer(
                  path.equals("/count") ? Long.toString(length) : path + "|" + body,
                  StandardCharsets.US_ASCII)));
      ctx.writeAndFlush(
          new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().set("grpc-status", "0"), true));
    }

    private void pour(ChannelHandlerContext ctx) {
      while (left > 0 && ctx.channel().isWritable()) {
        final int size = (int) Math.min(left, 16_384);
        left -= size;
        poured.addAndGet(size);
        ctx.write(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(new byte[size]), left == 0));
      }
      ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      if (ctx.channel().isWritable()) {
        pour(ctx);
      }
    }
  }
}
