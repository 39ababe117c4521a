package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * Limits how long an HTTP/2 client takes for the preface with its first frame, and for each frame
 * and each block of header fields that it has begun. Bodies have the limits of their requests.
 *
 * <pre>
 *  0                   1                   2                   3
 *  |                 Length (24)                   |   Type (8)    |
 *  |   Flags (8)   |R|                 Stream (31)                 |
 * </pre>
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9113#section-4.1">RFC 9113 section 4.1</a>
 */
final class Http2FrameWatch extends ChannelInboundHandlerAdapter {
  private static final int PREFACE_LENGTH = 24;
  private static final int HEADER_LENGTH = 9;
  private static final int TYPE_OFFSET = 3;
  private static final int FLAGS_OFFSET = 4;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int CONTINUATION = 9;
  private static final int END_HEADERS = 4;

  private final TimeLimit limit;
  private int type;
  private int flags;
  private int payloadLeft = PREFACE_LENGTH;
  private int payloadLength;
  private int headerRead;
  private boolean hasFrame;
  private boolean isInFields;

  Http2FrameWatch(TimeLimit limit) {
    this.limit = limit;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (message instanceof ByteBuf bytes) {
      read(bytes);
      if (isWaiting()) {
        limit.start(ctx.channel()::close);
      } else {
        limit.stop();
      }
    }
    ctx.fireChannelRead(message);
  }

  private boolean isWaiting() {
    final boolean isInFrame = headerRead > 0 || payloadLeft > 0 && type != DATA;
    return !hasFrame || isInFrame || isInFields;
  }

  private void read(ByteBuf bytes) {
    int i = bytes.readerIndex();
    while (i < bytes.writerIndex()) {
      if (payloadLeft > 0) {
        final int length = Math.min(payloadLeft, bytes.writerIndex() - i);
        payloadLeft -= length;
        i += length;
      } else {
        header(bytes.getUnsignedByte(i));
        i++;
      }
    }
  }

  private void header(int octet) {
    if (headerRead < TYPE_OFFSET) {
      payloadLength = (headerRead == 0 ? 0 : payloadLength << Byte.SIZE) | octet;
    } else if (headerRead == TYPE_OFFSET) {
      type = octet;
    } else if (headerRead == FLAGS_OFFSET) {
      flags = octet;
    }
    headerRead++;
    if (headerRead == HEADER_LENGTH) {
      headerRead = 0;
      payloadLeft = payloadLength;
      hasFrame = true;
      if (type == HEADERS || type == CONTINUATION) {
        isInFields = (flags & END_HEADERS) == 0;
      }
    }
  }
}
