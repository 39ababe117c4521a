package agent.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.atomic.AtomicLong;
import jdk.net.ExtendedSocketOptions;

/** A UDP echo server on one address of a namespace; counts datagrams. */
public final class UdpEchoServer implements AutoCloseable {
  /** Datagrams that come while the thread of a receiver has no CPU wait in its socket. */
  static final int RECEIVE_BYTES = 1 << 20;

  private final DatagramChannel channel;
  private final AtomicLong datagrams = new AtomicLong();

  private final Thread echoer;

  private UdpEchoServer(DatagramChannel channel) {
    this.channel = channel;
    echoer = Thread.ofPlatform().name("echo-udp").daemon().unstarted(this::echo);
  }

  /** Listens on an address and port; datagrams are answered as soon as this returns. */
  public static UdpEchoServer start(NetworkNamespace namespace, String address, int port) {
    try {
      final UdpEchoServer server =
          new UdpEchoServer(
              namespace.run(
                  () ->
                      DatagramChannel.open()
                          .setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BYTES)
                          .bind(new InetSocketAddress(InetAddress.ofLiteral(address), port))));
      server.echoer.start();
      return server;
    } catch (Exception failure) {
      throw new IllegalStateException("UDP echo server on port " + port, failure);
    }
  }

  /** Allows routers to fragment the answers, which leave without DF. */
  public UdpEchoServer letRoutersSplit() throws IOException {
    channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, false);
    return this;
  }

  /** Returns the number of received datagrams. */
  public long datagrams() {
    return datagrams.get();
  }

  private void echo() {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(65536);
    while (channel.isOpen()) {
      try {
        final SocketAddress peer = channel.receive(buffer.clear());
        datagrams.incrementAndGet(); // before the answer, so that its receiver finds it counted
        channel.send(buffer.flip(), peer);
      } catch (IOException ended) {
        if (!channel.isOpen()) {
          return;
        }
      }
    }
  }

  /** Stops the server; the port is free when this returns. */
  @Override
  public void close() throws IOException {
    channel.close();
    TcpConnection.join(echoer);
  }
}
