package agent.benchmarks;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The floor of {@link ReadLoad}: answers each request with the same bytes, from one thread a
 * connection, and reads nothing of it. What is above its time is the work of a server.
 */
final class BareServer implements AutoCloseable {
  private static final int LARGEST_REQUEST = 4096;

  private final Path socket;
  private final ServerSocketChannel listener;
  private final byte[] answer;

  /**
   * Starts to listen.
   *
   * @param socket the path of its socket
   * @param answerBytes the size of an answer with its head, to a byte
   */
  BareServer(Path socket, int answerBytes) throws IOException {
    this.socket = socket;
    final String form = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n";
    final int body = answerBytes - form.formatted(answerBytes).length();
    final byte[] head = form.formatted(body).getBytes(StandardCharsets.US_ASCII);
    answer = new byte[head.length + body];
    System.arraycopy(head, 0, answer, 0, head.length);
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(socket));
    Thread.ofPlatform().daemon().start(this::accept);
  }

  private void accept() {
    try {
      while (true) {
        final SocketChannel client = listener.accept();
        Thread.ofPlatform().daemon().start(() -> serve(client));
      }
    } catch (IOException closed) {
      // the measurement is over
    }
  }

  private void serve(SocketChannel client) {
    final ByteBuffer request = ByteBuffer.allocateDirect(LARGEST_REQUEST);
    final ByteBuffer same = ByteBuffer.allocateDirect(answer.length).put(answer);
    try (client) {
      while (client.read(request.clear()) >= 0) {
        same.rewind();
        while (same.hasRemaining()) {
          client.write(same);
        }
      }
    } catch (IOException gone) {
      // the client has ended
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    Files.deleteIfExists(socket);
  }
}
