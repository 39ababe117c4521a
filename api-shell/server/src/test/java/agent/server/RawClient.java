package agent.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A client that sends bytes as they are. */
final class RawClient implements AutoCloseable {
  private final SocketChannel channel;

  RawClient(Path socket) throws IOException {
    channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    channel.connect(UnixDomainSocketAddress.of(socket));
  }

  RawClient send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.UTF_8));
  }

  RawClient send(byte[] bytes, int times) throws IOException {
    for (int i = 0; i < times; i++) {
      send(bytes);
    }
    return this;
  }

  RawClient send(byte[] bytes) throws IOException {
    final ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
    return this;
  }

  RawClient shutdownOutput() throws IOException {
    channel.shutdownOutput();
    return this;
  }

  int read(int maxBytes) throws IOException {
    return channel.read(ByteBuffer.allocate(maxBytes));
  }

  /** Reads until the server closes. */
  String readToEnd() throws IOException {
    final ByteArrayOutputStream all = new ByteArrayOutputStream();
    final ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
    while (channel.read(buffer) >= 0) {
      all.write(buffer.array(), 0, buffer.position());
      buffer.clear();
    }
    return all.toString(StandardCharsets.UTF_8);
  }

  /** Reads one answer that has a Content-Length. */
  String readAnswer() throws IOException {
    final StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      head.append(new String(readExactly(1), StandardCharsets.ISO_8859_1));
    }
    final String lower = head.toString().toLowerCase(java.util.Locale.ROOT);
    final int at = lower.indexOf("content-length:");
    final int length =
        at < 0 ? 0 : Integer.parseInt(lower.substring(at + 15, lower.indexOf('\r', at)).strip());
    return head + new String(readExactly(length), StandardCharsets.UTF_8);
  }

  private byte[] readExactly(int count) throws IOException {
    final ByteBuffer buffer = ByteBuffer.allocate(count);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new IOException("closed after " + buffer.position() + " bytes");
      }
    }
    return buffer.array();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
