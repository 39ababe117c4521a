package agent.l7proxy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import java.nio.channels.spi.SelectorProvider;

/** How an event loop reads and writes its sockets. */
enum SocketTransport {
  /** One system call hands over what all sockets have to do, and takes what was done. */
  IO_URING("io_uring(7)") {
    @Override
    IoHandlerFactory loop() {
      return IoUringIoHandler.newFactory();
    }

    @Override
    ChannelFactory<ServerChannel> listener(SocketProtocolFamily family) {
      return IoUringServerSocketChannel::new; // of both families where the node has IPv6
    }

    @Override
    ChannelFactory<Channel> connection() {
      return IoUringSocketChannel::new;
    }

    @Override
    void limitInput(ChannelPipeline pipeline) {
      pipeline.addFirst(new ReadAheadLimit());
    }
  },
  /** A system call for each read and each write. */
  EPOLL("epoll(7)") {
    @Override
    IoHandlerFactory loop() {
      return NioIoHandler.newFactory();
    }

    @Override
    ChannelFactory<ServerChannel> listener(SocketProtocolFamily family) {
      return () -> new NioServerSocketChannel(SelectorProvider.provider(), family);
    }

    @Override
    ChannelFactory<Channel> connection() {
      return NioSocketChannel::new;
    }
  };

  private final String text;

  SocketTransport(String text) {
    this.text = text;
  }

  /** Returns io_uring where the kernel has it, permits it, and has what is needed of it. */
  static SocketTransport best() {
    return IoUring.isAvailable() ? IO_URING : EPOLL;
  }

  /** Returns a new event loop's part that waits for the kernel. */
  abstract IoHandlerFactory loop();

  /** Returns what opens sockets to listen on an address of the family. */
  abstract ChannelFactory<ServerChannel> listener(SocketProtocolFamily family);

  /** Returns what opens sockets to connect. */
  abstract ChannelFactory<Channel> connection();

  /** Bounds what is read of a connection without being asked for, if anything is. */
  void limitInput(ChannelPipeline pipeline) {}

  /** Returns its name, and why it is not io_uring. */
  @Override
  public String toString() {
    return this == IO_URING || IoUring.isAvailable()
        ? text
        : text + ", without io_uring: " + IoUring.unavailabilityCause().getMessage();
  }
}
