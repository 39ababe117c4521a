package agent.l7proxy;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A connection of HTTP/2, with prior knowledge or by an upgrade. */
final class Http2Client implements AutoCloseable {
  /** A response. */
  record Answer(List<Http2Headers> heads, String body, long length, Long reset) {
    int status() {
      return Integer.parseInt(heads.getLast().status().toString());
    }
  }

  /** The head of the response to an upgrade. */
  final CompletableFuture<String> upgraded = new CompletableFuture<>();

  /** The answer to the request that was upgraded. */
  final CompletableFuture<Answer> first = new CompletableFuture<>();

  private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  final Channel channel;

  Http2Client(int port) {
    channel = connect(port, codec(), new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
  }

  /** Sends the head of a request of HTTP/1.1, and goes on with HTTP/2 when that is accepted. */
  Http2Client(int port, String request) {
    channel = connect(port, new Upgrade());
    channel.writeAndFlush(Unpooled.copiedBuffer(request, StandardCharsets.US_ASCII));
  }

  private static Http2FrameCodec codec() {
    return Http2FrameCodecBuilder.forClient()
        .initialSettings(Http2Settings.defaultSettings().maxHeaderListSize(64 * 1024))
        .validateHeaders(false)
        .build();
  }

  private Channel connect(int port, ChannelHandler... handlers) {
    return new Bootstrap()
        .group(loop)
        .channelFactory(NioSocketChannel::new)
        .handler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel made) {
                made.pipeline().addLast(handlers);
              }
            })
        .connect("127.0.0.1", port)
        .syncUninterruptibly()
        .channel();
  }

  /** Reads the response to the upgrade. */
  private final class Upgrade extends ByteToMessageDecoder {
    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out)
        throws Http2Exception {
      final String text = in.toString(StandardCharsets.US_ASCII);
      final int end = text.indexOf("\r\n\r\n");
      if (end < 0) {
        return;
      }
      in.skipBytes(end + 4);
      final Http2FrameCodec codec = codec();
      ctx.pipeline()
          .addLast(
              codec,
              new Http2MultiplexHandler(new ChannelInboundHandlerAdapter(), new Reader(first)));
      codec.onHttpClientUpgrade();
      ctx.pipeline().remove(this);
      upgraded.complete(text.substring(0, end));
    }
  }

  static Http2Headers head(String method, String path) {
    return new DefaultHttp2Headers(false)
        .method(method)
        .path(path)
        .scheme("http")
        .authority("a.test:80");
  }

  /** Sends a request; null as the body: it has none. */
  CompletableFuture<Answer> send(Http2Headers head, String body, Http2Headers trailers) {
    final CompletableFuture<Answer> answer = new CompletableFuture<>();
    final Channel stream = open(new Reader(answer));
    final boolean isLast = body == null && trailers == null;
    stream.write(new DefaultHttp2HeadersFrame(head, isLast));
    if (body != null) {
      stream.write(
          new DefaultHttp2DataFrame(
              Unpooled.copiedBuffer(body, StandardCharsets.US_ASCII), trailers == null));
    }
    if (trailers != null) {
      stream.write(new DefaultHttp2HeadersFrame(trailers, true));
    }
    stream.flush();
    return answer.orTimeout(20, TimeUnit.SECONDS);
  }

  /** A request whose response is read once it is resumed. */
  record Stalled(Channel stream, CompletableFuture<Answer> answer) {
    void resume() {
      stream.config().setAutoRead(true);
    }
  }

  /** Asks for a response, and does not read it. */
  Stalled stalled(String path) {
    final CompletableFuture<Answer> answer = new CompletableFuture<>();
    final Channel stream = open(new Reader(answer));
    stream.config().setAutoRead(false);
    stream.writeAndFlush(new DefaultHttp2HeadersFrame(head("GET", path), true));
    return new Stalled(stream, answer);
  }

  /** A request with a long body. */
  record Upload(AtomicLong sent, CompletableFuture<Answer> answer) {}

  /** Sends a body as fast as the other end takes it. */
  Upload upload(String path, long length) {
    final CompletableFuture<Answer> answer = new CompletableFuture<>();
    final AtomicLong sent = new AtomicLong();
    final Channel stream = open(new Reader(answer));
    stream.writeAndFlush(new DefaultHttp2HeadersFrame(head("POST", path), false));
    pour(stream, length, sent);
    return new Upload(sent, answer);
  }

  private static void pour(Channel stream, long left, AtomicLong sent) {
    final int size = (int) Math.min(left, 16_384);
    stream
        .writeAndFlush(
            new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(new byte[size]), left == size))
        .addListener(
            written -> {
              if (written.isSuccess() && left > size) {
                sent.addAndGet(size);
                stream.eventLoop().execute(() -> pour(stream, left - size, sent));
              }
            });
  }

  private Channel open(ChannelHandler reader) {
    return new Http2StreamChannelBootstrap(channel)
        .handler(reader)
        .open()
        .syncUninterruptibly()
        .getNow();
  }

  CompletableFuture<Answer> get(String path) {
    return send(head("GET", path), null, null);
  }

  @Override
  public void close() {
    channel.close().syncUninterruptibly();
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
  }

  private static final class Reader extends ChannelInboundHandlerAdapter {
    private final CompletableFuture<Answer> answer;
    private final List<Http2Headers> heads = new ArrayList<>();
    private final StringBuilder body = new StringBuilder();
    private long length;

    Reader(CompletableFuture<Answer> answer) {
      this.answer = answer;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
      boolean isEnd = false;
      if (message instanceof Http2HeadersFrame head) {
        heads.add(head.headers());
        isEnd = head.isEndStream();
      } else if (message instanceof Http2DataFrame part) {
        length += part.content().readableBytes();
        if (length < 100_000) {
          body.append(part.content().toString(StandardCharsets.US_ASCII));
        }
        isEnd = part.isEndStream();
      }
      ReferenceCountUtil.release(message);
      if (isEnd) {
        answer.complete(new Answer(heads, body.toString(), length, null));
      }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event instanceof Http2ResetFrame reset) {
        answer.complete(new Answer(heads, body.toString(), length, reset.errorCode()));
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      answer.complete(new Answer(heads, body.toString(), length, -1L));
    }
  }
}
