package agent.client;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;

/** A connection to a Unix socket whose reads and writes fail after a time-out. */
final class UnixHttpConnection implements AutoCloseable {
  private static final int BUFFER_BYTES = 16 * 1024;

  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final long timeoutMs;
  private final ByteBuffer received = ByteBuffer.allocate(BUFFER_BYTES).flip();

  private UnixHttpConnection(SocketChannel channel, Selector selector, Duration timeout)
      throws IOException {
    this.channel = channel;
    this.selector = selector;
    this.timeoutMs = timeout.toMillis();
    key = channel.register(selector, 0);
  }

  static UnixHttpConnection open(Path path, Duration timeout) throws IOException {
    final SocketChannel channel = connect(path, timeout);
    try {
      return new UnixHttpConnection(channel, Selector.open(), timeout);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /**
   * Connects. Where the queue of the listener is full, a blocking connect waits for as long as that
   * lasts, and a non-blocking one fails; so what fails is tried again, and ended after the
   * time-out.
   */
  static SocketChannel connect(Path path, Duration timeout) throws IOException {
    final UnixDomainSocketAddress address = UnixDomainSocketAddress.of(path);
    final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    boolean isConnected = false;
    try {
      channel.configureBlocking(false);
      isConnected = channel.connect(address);
    } catch (IOException refused) {
      // The blocking connect waits, or fails with the reason.
    }
    if (isConnected) {
      return channel;
    }
    channel.close();
    return connectBlocking(address, timeout);
  }

  private static SocketChannel connectBlocking(UnixDomainSocketAddress address, Duration timeout)
      throws IOException {
    final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    final Thread timer =
        Thread.ofPlatform().daemon().name("connect-timeout").start(() -> close(channel, timeout));
    try {
      channel.connect(address);
      timer.interrupt();
      timer.join();
      channel.configureBlocking(false);
      return channel;
    } catch (ClosedChannelException e) {
      throw new IOException("no connection accepted within " + seconds(timeout.toMillis()), e);
    } catch (InterruptedException e) {
      channel.close();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      timer.interrupt(); // a connect that fails has closed the channel
    }
  }

  private static void close(SocketChannel channel, Duration timeout) {
    try {
      Thread.sleep(timeout);
      channel.close();
    } catch (InterruptedException | IOException ended) {
      // It is connected, or the failure of its caller says more.
    }
  }

  private static String seconds(long ms) {
    return ms % 1000 == 0 ? ms / 1000 + " s" : ms + " ms";
  }

  void write(ByteBuffer bytes) throws IOException {
    channel.write(bytes);
    while (bytes.hasRemaining()) {
      await(SelectionKey.OP_WRITE);
      channel.write(bytes);
    }
  }

  /** Returns the next byte, or -1 at the end. */
  int read() throws IOException {
    return received.hasRemaining() || fill() ? received.get() & 0xff : -1;
  }

  /** Returns how many bytes were read, or -1 at the end. */
  int read(byte[] bytes, int offset, int length) throws IOException {
    if (!received.hasRemaining() && !fill()) {
      return -1;
    }
    final int count = Math.min(length, received.remaining());
    received.get(bytes, offset, count);
    return count;
  }

  /** Where it fails, nothing is there to be read. */
  private boolean fill() throws IOException {
    int count = receive();
    while (count == 0) {
      await(SelectionKey.OP_READ);
      count = receive();
    }
    return count > 0;
  }

  private int receive() throws IOException {
    received.clear();
    try {
      return channel.read(received);
    } finally {
      received.flip();
    }
  }

  private void await(int op) throws IOException {
    key.interestOps(op);
    if (selector.select(timeoutMs) == 0) {
      throw new IOException("the agent did not answer within " + seconds(timeoutMs));
    }
    selector.selectedKeys().clear();
  }

  /** Reads a line that ends with CR LF or LF, without its end. */
  String readLine(int maxBytes) throws IOException {
    final StringBuilder line = new StringBuilder();
    for (int c = read(); c != '\n'; c = read()) {
      if (c < 0) {
        throw new EOFException("the agent closed the connection");
      }
      if (line.length() >= maxBytes) {
        throw new IOException("a line of the answer is too long");
      }
      line.append((char) c);
    }
    final int last = line.length() - 1;
    return last >= 0 && line.charAt(last) == '\r' ? line.substring(0, last) : line.toString();
  }

  @Override
  public void close() throws IOException {
    channel.close();
    selector.close();
  }

  /** The rest of the connection as a stream. */
  InputStream untilClose() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        return UnixHttpConnection.this.read();
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        return length == 0 ? 0 : UnixHttpConnection.this.read(bytes, offset, length);
      }
    };
  }
}
