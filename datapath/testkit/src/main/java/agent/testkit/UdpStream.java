package agent.testkit;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sends numbered datagrams to an echo server at a fixed interval; counts those without an answer. A
 * second answer to the same datagram counts nothing.
 */
public final class UdpStream implements AutoCloseable {
  private static final int STEP_MS = 5;

  /** How long no answer comes at the end of a stream without any, and of one with some. */
  private static final long NONE_NS = 500_000_000L;

  private static final long SOME_NS = 1_500_000_000L;
  private static final int LONGEST_MS = 10_000;

  private final DatagramChannel channel;
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong received = new AtomicLong();
  private final BitSet answered = new BitSet(); // of the receiver's thread
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
                          .setOption(StandardSocketOptions.SO_RCVBUF, UdpEchoServer.RECEIVE_BYTES)
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
    return isAnswered(from, address, port, 3, timeoutMs);
  }

  /** Returns whether the echo server answers one datagram of so many bytes with the same ones. */
  public static boolean isAnswered(
      NetworkNamespace from, String address, int port, int bytes, int timeoutMs) {
    final byte[] sent = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      sent[i] = (byte) (i ^ i >> 8);
    }
    try {
      final DatagramChannel channel =
          from.run(
              () ->
                  DatagramChannel.open()
                      .connect(new InetSocketAddress(InetAddress.ofLiteral(address), port)));
      try (channel) {
        channel.write(ByteBuffer.wrap(sent));
        channel.socket().setSoTimeout(timeoutMs);
        final DatagramPacket answer = new DatagramPacket(new byte[bytes + 1], bytes + 1);
        channel.socket().receive(answer);
        return Arrays.equals(answer.getData(), 0, answer.getLength(), sent, 0, bytes);
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

  /** Returns the number of datagrams that were answered. */
  public long received() {
    return received.get();
  }

  /**
   * Stops sending, waits until all are answered or no more answers come, and returns the number of
   * datagrams without one.
   */
  public long stopAndCountLost() {
    isStopped = true;
    try {
      sender.join(LONGEST_MS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    final long deadline = System.nanoTime() + LONGEST_MS * 1_000_000L;
    long last = received.get();
    long quietEnd = System.nanoTime() + quietNs(last);
    while (last < sent.get()
        && System.nanoTime() < deadline
        && (received.get() > last || System.nanoTime() < quietEnd)) {
      if (received.get() > last) {
        last = received.get();
        quietEnd = System.nanoTime() + quietNs(last);
      }
      TcpConnection.pause(STEP_MS);
    }
    return sent.get() - received.get();
  }

  private static long quietNs(long received) {
    return received == 0 ? NONE_NS : SOME_NS;
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
        if (channel.read(buffer.clear()) == Long.BYTES) {
          onAnswer((int) buffer.flip().getLong());
        }
      } catch (IOException ended) {
        if (!channel.isOpen()) {
          return;
        }
      }
    }
  }

  private void onAnswer(int number) {
    if (!answered.get(number)) {
      answered.set(number);
      received.incrementAndGet();
    }
  }

  @Override
  public void close() throws IOException {
    isStopped = true;
    channel.close();
  }
}
