package agent.l7proxy;

import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.ReferenceCountUtil;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Limits what the proxy reads ahead of its handlers. With io_uring, Netty reads a connection that
 * the peer has half-closed to its end, although no handler requested a read and the other side
 * accepts nothing: at most the receive buffer of the kernel. Once the buffers of all connections
 * hold the limit, such a connection is closed.
 */
final class ReadAheadLimit extends ChannelDuplexHandler {
  static final long MOST_BYTES = 128L << 20;

  private static final Logger LOGGER = LogManager.getLogger(ReadAheadLimit.class);

  private final long mostBytes;
  private boolean isRequested;

  ReadAheadLimit() {
    this(MOST_BYTES);
  }

  ReadAheadLimit(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** Called before each read, also those of a channel that reads on its own. */
  @Override
  public void read(ChannelHandlerContext ctx) {
    isRequested = true;
    ctx.read();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    final Channel channel = ctx.channel();
    if (isRequested || heldBytes(channel) <= mostBytes) {
      ctx.fireChannelRead(message);
      return;
    }
    ReferenceCountUtil.release(message);
    LOGGER.debug("{}: closed: the buffers of all connections exceed the read-ahead limit", channel);
    ((SocketChannel) channel).config().setSoLinger(0);
    channel.close();
  }

  private static long heldBytes(Channel channel) {
    return ((ByteBufAllocatorMetricProvider) channel.alloc()).metric().usedDirectMemory();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    isRequested = false;
    ctx.fireChannelReadComplete();
  }
}
