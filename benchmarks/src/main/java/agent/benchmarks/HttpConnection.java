package agent.benchmarks;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** A connection to a Unix socket that carries one request after the other. */
final class HttpConnection implements AutoCloseable {
  private static final int LARGEST_ANSWER = 256 * 1024;
  private static final String LENGTH = "Content-Length: ";

  private final SocketChannel channel;
  private final ByteBuffer in = ByteBuffer.allocate(LARGEST_ANSWER);

  HttpConnection(UnixDomainSocketAddress address) throws IOException {
    channel = SocketChannel.open(address);
  }

  /** Returns a request, whose body is JSON where it is not empty. */
  static byte[] request(String line, String body) {
    final String type = body.isEmpty() ? "" : "Content-Type: application/json\r\n";
    final String head =
        "%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n"
            .formatted(line, type, body.length());
    return (head + body).getBytes(StandardCharsets.US_ASCII);
  }

  /** Sends a request and reads its answer, which has to be a success. */
  void exchange(byte[] request) throws IOException {
    final ByteBuffer out = ByteBuffer.wrap(request);
    while (out.hasRemaining()) {
      channel.write(out);
    }
    in.clear();
    do {
      if (channel.read(in) < 0) {
        throw new IOException("the daemon closed the connection");
      }
    } while (!isComplete(new String(in.array(), 0, in.position(), StandardCharsets.ISO_8859_1)));
  }

  /** The end of a chunked answer is that of its last chunk. */
  private static boolean isComplete(String answer) throws IOException {
    final int body = answer.indexOf("\r\n\r\n") + 4;
    if (body < 4) {
      return false;
    }
    if (answer.charAt(9) != '2') {
      throw new IOException(answer);
    }
    final int length = answer.indexOf(LENGTH);
    return length < 0 || length > body
        ? answer.endsWith("\r\n0\r\n\r\n")
        : answer.length()
            >= body
                + Integer.parseInt(
                    answer.substring(length + LENGTH.length(), answer.indexOf('\r', length)));
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
