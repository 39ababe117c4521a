package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.List;

/**
 * Reads the requests of a connection with Netty's decoder, one at a time: after a request the bytes
 * of the next one wait until {@link #resume}. A head is checked as a whole before it is decoded.
 */
final class RequestDecoder extends HttpRequestDecoder {
  /** The longest request line and header, in bytes. */
  static final int LONGEST_HEAD = 64 * 1024;

  private final ClientConnection connection;
  private ChannelHandlerContext context;
  private ChannelInputShutdownEvent delayedShutdown;
  private boolean isInHead = true;
  private boolean isPaused;
  private boolean isDecoding;
  private boolean isDiscarding;
  private int checked;
  private boolean isRequestLineChecked;

  RequestDecoder(ClientConnection connection) {
    super(
        new HttpDecoderConfig()
            .setMaxInitialLineLength(LONGEST_HEAD)
            .setMaxHeaderSize(LONGEST_HEAD)
            .setMaxChunkSize(16 * 1024)
            .setInitialBufferSize(64)
            .setStrictLineParsing(true));
    this.connection = connection;
  }

  /** Reads the next request, once the one before is answered. */
  void resume() {
    isPaused = false;
    if (isDecoding || context == null || context.isRemoved()) {
      return;
    }
    if (actualReadableBytes() > 0) {
      try {
        channelRead(context, Unpooled.EMPTY_BUFFER);
      } catch (Exception e) {
        context.fireExceptionCaught(e);
      }
      context.fireChannelReadComplete();
    }
  }

  private void passShutdown() {
    if (delayedShutdown != null && !context.isRemoved() && !isNextWaiting()) {
      final ChannelInputShutdownEvent event = delayedShutdown;
      delayedShutdown = null;
      context.fireUserEventTriggered(event);
    }
  }

  private boolean isNextWaiting() {
    return isPaused && actualReadableBytes() > 0;
  }

  /** Reads and forgets everything that comes from now on. */
  void discard() {
    isDiscarding = true;
    resume();
  }

  /** Returns whether bytes of the next request wait. */
  boolean hasMore() {
    return actualReadableBytes() > 0;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
    context = ctx;
    super.handlerAdded(ctx);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
    isDecoding = true;
    try {
      super.channelRead(ctx, message);
    } finally {
      isDecoding = false;
    }
    passShutdown();
  }

  /** While the next request waits nothing more is read, so that a client cannot fill the memory. */
  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
    if (isPaused) {
      ctx.fireChannelReadComplete();
    } else {
      super.channelReadComplete(ctx);
    }
  }

  /** The end of the input follows the requests that came before it. */
  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) throws Exception {
    if (event instanceof ChannelInputShutdownEvent shutdown && isNextWaiting()) {
      delayedShutdown = shutdown;
      return;
    }
    super.userEventTriggered(ctx, event);
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
    if (isDiscarding) {
      in.skipBytes(in.readableBytes());
      return;
    }
    if (isPaused) {
      return;
    }
    if (isInHead && !isHeadComplete(in, out)) {
      if (out.isEmpty()) {
        awaitHead(in);
      }
      return;
    }
    connection.head().stop();
    connection.idle().stop();
    isInHead = false;
    super.decode(ctx, in, out);
    if (!out.isEmpty() && out.getLast() instanceof LastHttpContent) {
      isInHead = true;
      isPaused = true;
      isRequestLineChecked = false;
      checked = 0;
    }
  }

  /** Returns whether the whole head is there and well-formed; adds a failure where it is not. */
  private boolean isHeadComplete(ByteBuf in, List<Object> out) {
    while (true) {
      final int from = in.readerIndex() + checked;
      final int end = in.indexOf(from, in.writerIndex(), (byte) '\n');
      if (end < 0) {
        if (in.readableBytes() > LONGEST_HEAD) {
          fail(in, out, "the head is longer than " + LONGEST_HEAD + " bytes");
        }
        return false;
      }
      checked = end + 1 - in.readerIndex();
      if (end == from + 1 && in.getByte(from) == '\r') {
        if (isRequestLineChecked) {
          return true;
        }
        in.skipBytes(2); // an empty line before a request (RFC 9112 section 2.2)
        checked = 0;
        continue;
      }
      final String problem = HeadCheck.problem(in, from, end, !isRequestLineChecked);
      if (problem != null || checked > LONGEST_HEAD) {
        fail(in, out, problem == null ? "the head is too long" : problem);
        return false;
      }
      isRequestLineChecked = true;
    }
  }

  /** Limits the time to the end of a head that has begun. */
  private void awaitHead(ByteBuf in) {
    if (in.isReadable() || connection.head().isRunning()) {
      if (!connection.head().isRunning()) {
        connection.touch();
      }
      connection.idle().stop();
      connection.head().start(this::headExpired);
    }
  }

  private void headExpired() {
    isDiscarding = true;
    context.fireChannelRead(
        failed(
            new BadRequestException(
                HttpResponseStatus.REQUEST_TIMEOUT, "the request head was not received in time")));
  }

  private void fail(ByteBuf in, List<Object> out, String problem) {
    in.skipBytes(in.readableBytes());
    isDiscarding = true;
    out.add(failed(new BadRequestException(problem)));
  }

  /** Returns a request in place of one that could not be read. */
  static HttpRequest failed(BadRequestException problem) {
    final HttpRequest message =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, new HttpMethod("-"), "-");
    message.setDecoderResult(DecoderResult.failure(problem));
    return message;
  }
}
