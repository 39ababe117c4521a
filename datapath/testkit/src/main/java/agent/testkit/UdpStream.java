package agent.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.atomic.AtomicLong;

/** Sends numbered datagrams to an echo server at a fixed interval; counts the lost ones. */
public final class UdpStream implements AutoCloseable {
  private static final int STRAGGLERS_MS = 500;

  private final DatagramChannel channel;
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong received = new AtomicLong();
  private final Thread sender;
  private volatile boolean isStopped;

  private UdpStream(DatagramChannel channel, int intervalMs) {
    this.channel = channel;
    this.sender = Thread.ofPlatform().name("udp-sender").daemon().unstarted(() -> send(intervalMs));
  }

  /** Starts to send one datagram every {@code intervalMs}. */
  public static UdpStream start(NetworkNamespace from, String address, int port, int intervalMs) {
    try {
      final UdpStream stream =
          new UdpStream(
              from.run(
                  () ->
                      DatagramChannel.open()
                          .connect(new InetSocketAddress(InetAddress.ofLiteral(address), port))),
              intervalMs);
      Thread.ofPlatform().name("udp-receiver").daemon().start(stream::receive);
      stream.sender.start();
      return stream;
    } catch (Exception failure) {
      throw new IllegalStateException("UDP to " + address + " port " + port, failure);
    }
  }

  /** Returns whether the echo server answers one datagram within the time-out. */
  public static boolean isAnswered(NetworkNamespace from, String address, int port, int timeoutMs) {
    try {
      final DatagramChannel channel =
          from.run(
              () ->
                  DatagramChannel.open()
                      .connect(new InetSocketAddress(InetAddress.ofLiteral(address), port)));
      try (channel) {
        channel.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
        channel.socket().setSoTimeout(timeoutMs);
        channel.socket().receive(new java.net.DatagramPacket(new byte[16], 16));
        return true;
      } catch (IOException unanswered) {
        return false;
      }
    } catch (Exception failure) {
      throw new IllegalStateException("UDP to " + address + " port " + port, failure);
    }
  }

  public long sent() {
    return sent.get();
  }

  public long received() {
    return received.get();
  }

  /** Stops sending, waits for datagrams in flight, and returns the number of lost ones. */
  public long stopAndCountLost() {
    isStopped = true;
    try {
      sender.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    TcpConnection.pause(STRAGGLERS_MS);
    return sent.get() - received.get();
  }

  private void send(int intervalMs) {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(Long.BYTES);
    for (long number = 1; !isStopped; number++) {
      sent.incrementAndGet();
      try {
        channel.write(buffer.clear().putLong(number).flip());
      } catch (IOException refused) {
        // Counted as lost: no answer arrives.
      }
      TcpConnection.pause(intervalMs);
    }
  }

  private void receive() {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(65536);
    while (channel.isOpen()) {
      try {
        if (channel.read(buffer.clear()) > 0) {
          received.incrementAndGet();
        }
      } catch (IOException ended) {
        if (!channel.isOpen()) {
          return;
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    isStopped = true;
    channel.close();
  }
}
