package agent.benchmarks;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Sends HTTP requests to a Unix socket, each on a new connection. */
final class UnixHttp {
  private final UnixDomainSocketAddress address;

  UnixHttp(Path socket) {
    address = UnixDomainSocketAddress.of(socket);
  }

  /**
   * A response.
   *
   * @param status HTTP status code
   * @param text headers and body
   */
  record Answer(int status, String text) {}

  Answer call(String method, String path, String body) throws IOException {
    final byte[] content = body.getBytes(StandardCharsets.UTF_8);
    final String head =
        method
            + " "
            + path
            + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Type: application/json\r\nContent-Length: "
            + content.length
            + "\r\n\r\n";
    try (SocketChannel channel = SocketChannel.open(address)) {
      write(channel, ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
      write(channel, ByteBuffer.wrap(content));
      final ByteArrayOutputStream answer = new ByteArrayOutputStream();
      final ByteBuffer buffer = ByteBuffer.allocate(16_384);
      while (channel.read(buffer) >= 0) {
        answer.write(buffer.array(), 0, buffer.position());
        buffer.clear();
      }
      final String text = answer.toString(StandardCharsets.UTF_8);
      if (text.length() < 12) {
        throw new IOException(method + " " + path + ": no answer");
      }
      return new Answer(Integer.parseInt(text.substring(9, 12)), text);
    }
  }

  private static void write(SocketChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }
}
