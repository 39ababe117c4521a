package agent.l7proxy;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A connection of HTTP/2 with prior knowledge. */
final class Http2Client implements AutoCloseable {
  /** A response. */
  record Answer(List<Http2Headers> heads, String body, long length, Long reset) {
    int status() {
      return Integer.parseInt(heads.getLast().status().toString());
    }
  }

  private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  final Channel channel;

  Http2Client(int port) {
    channel =
        new Bootstrap()
            .group(loop)
            .channelFactory(NioSocketChannel::new)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel made) {
                    made.pipeline()
                        .addLast(
                            Http2FrameCodecBuilder.forClient().validateHeaders(false).build(),
                            new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
                  }
                })
            .connect("127.0.0.1", port)
            .syncUninterruptibly()
            .channel();
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
    final Channel stream =
        new Http2StreamChannelBootstrap(channel)
            .handler(new Reader(answer))
            .open()
            .syncUninterruptibly()
            .getNow();
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
