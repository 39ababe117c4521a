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
 * Bounds what the proxy holds of peers that have sent all they have to send. With io_uring Netty
 * reads that to its end, also while the other side takes nothing: at most what the receive buffer
 * of the kernel has. Where the buffers of all connections are too large already, such a connection
 * is closed.
 */
final class UnaskedInput extends ChannelDuplexHandler {
  static final long MOST_BYTES = 128L << 20;

  private static final Logger LOGGER = LogManager.getLogger(UnaskedInput.class);

  private final long mostBytes;
  private boolean isAsked;

  UnaskedInput() {
    this(MOST_BYTES);
  }

  UnaskedInput(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** Called before each read, also those of a channel that reads on its own. */
  @Override
  public void read(ChannelHandlerContext ctx) {
    isAsked = true;
    ctx.read();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    final Channel channel = ctx.channel();
    if (isAsked || heldBytes(channel) <= mostBytes) {
      ctx.fireChannelRead(message);
      return;
    }
    ReferenceCountUtil.release(message);
    LOGGER.debug("{}: closed, the buffers of all connections are full", channel);
    ((SocketChannel) channel).config().setSoLinger(0);
    channel.close();
  }

  private static long heldBytes(Channel channel) {
    return ((ByteBufAllocatorMetricProvider) channel.alloc()).metric().usedDirectMemory();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    isAsked = false;
    ctx.fireChannelReadComplete();
  }
}
