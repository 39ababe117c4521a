package agent.l7proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DefaultSocketChannelConfig;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.SocketChannelConfig;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** A connection in memory with a clock that stands, and with halves that end on their own. */
final class EmbeddedSocket extends EmbeddedChannel implements SocketChannel {
  /** How often it was asked for more of the input. */
  int reads;

  /** The option of its close; 0: a reset; -1: not set. */
  int lingerSec = -1;

  private SocketChannelConfig config;
  private boolean isInputShutdown;
  private boolean isOutputShutdown;

  EmbeddedSocket() {
    freezeTime();
    config().setAutoRead(false);
    reads = 0;
  }

  /** Delivers bytes of the other end as one read. */
  void receive(String bytes) {
    writeInbound(io.netty.buffer.Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1));
  }

  /** Delivers the end of the other end's output. */
  void receiveEnd() {
    isInputShutdown = true;
    pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
    runPendingTasks();
  }

  /** Returns what was sent since the last call. */
  String sent() {
    final StringBuilder text = new StringBuilder();
    for (Object part = readOutbound(); part != null; part = readOutbound()) {
      final ByteBuf bytes = (ByteBuf) part;
      text.append(bytes.toString(StandardCharsets.ISO_8859_1));
      bytes.release();
    }
    return text.toString();
  }

  /** Advances the time. */
  void pass(long ms) {
    advanceTimeBy(ms, TimeUnit.MILLISECONDS);
    runScheduledPendingTasks();
    runPendingTasks();
  }

  /** Says whether the other end takes more. */
  void takesMore(boolean value) {
    final ChannelOutboundBuffer buffer = unsafe().outboundBuffer();
    buffer.setUserDefinedWritability(1, value);
    runPendingTasks();
  }

  /** Returns how often it was asked for more since the last call. */
  int newReads() {
    final int count = reads;
    reads = 0;
    return count;
  }

  @Override
  protected void doBeginRead() {
    reads++;
  }

  @Override
  public SocketChannelConfig config() {
    if (config == null) { // the constructor above asks for it
      config =
          new DefaultSocketChannelConfig(this, new Socket()) {
            @Override
            public SocketChannelConfig setSoLinger(int sec) {
              lingerSec = sec;
              return this;
            }
          };
    }
    return config;
  }

  @Override
  public ServerSocketChannel parent() {
    return null;
  }

  @Override
  public InetSocketAddress localAddress() {
    return new InetSocketAddress("127.0.0.1", 1);
  }

  @Override
  public InetSocketAddress remoteAddress() {
    return new InetSocketAddress("127.0.0.1", 2);
  }

  @Override
  public boolean isInputShutdown() {
    return isInputShutdown;
  }

  @Override
  public boolean isOutputShutdown() {
    return isOutputShutdown;
  }

  @Override
  public boolean isShutdown() {
    return isInputShutdown && isOutputShutdown;
  }

  @Override
  public ChannelFuture shutdownInput() {
    return shutdownInput(newPromise());
  }

  @Override
  public ChannelFuture shutdownInput(ChannelPromise promise) {
    isInputShutdown = true;
    return promise.setSuccess();
  }

  @Override
  public ChannelFuture shutdownOutput() {
    return shutdownOutput(newPromise());
  }

  @Override
  public ChannelFuture shutdownOutput(ChannelPromise promise) {
    isOutputShutdown = true;
    return promise.setSuccess();
  }

  @Override
  public ChannelFuture shutdown() {
    return shutdown(newPromise());
  }

  @Override
  public ChannelFuture shutdown(ChannelPromise promise) {
    isInputShutdown = true;
    return shutdownOutput(promise);
  }
}
