package agent.testkit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/**
 * An HTTP server on a Unix socket for tests of clients: it answers with prepared bytes and records
 * the requests.
 */
public final class CannedHttpServer implements AutoCloseable {
  private final Path directory;
  private final Path socket;
  private final ServerSocketChannel server;
  private final Function<String, String> answers;
  private final List<String> requests = new CopyOnWriteArrayList<>();

  private CannedHttpServer(Function<String, String> answers) throws IOException {
    this.answers = answers;
    directory = Files.createTempDirectory("canned");
    socket = directory.resolve("agent.sock");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket));
    Thread.ofVirtual().start(this::accept);
  }

  /**
   * Starts a server.
   *
   * @param answers returns the whole answer to a request (head and body); an empty answer closes
   *     the connection
   * @return the server
   */
  public static CannedHttpServer start(Function<String, String> answers) throws IOException {
    return new CannedHttpServer(answers);
  }

  /** Returns an answer with a body and a Content-Length header. */
  public static String answer(int status, String body) {
    return "HTTP/1.1 %d Whatever\r\nContent-Length: %d\r\n\r\n%s"
        .formatted(status, body.getBytes(StandardCharsets.UTF_8).length, body);
  }

  /** Returns the path of the socket. */
  public Path socket() {
    return socket;
  }

  /** Returns the received requests, head and body. */
  public List<String> requests() {
    return List.copyOf(requests);
  }

  private void accept() {
    try {
      while (true) {
        final SocketChannel client = server.accept();
        Thread.ofVirtual().start(() -> serve(client));
      }
    } catch (IOException e) {
      // The test closed the server.
      return;
    }
  }

  private void serve(SocketChannel client) {
    try (client) {
      for (String request = read(client); request != null; request = read(client)) {
        requests.add(request);
        final String answer = answers.apply(request);
        if (answer.isEmpty()) {
          return;
        }
        final ByteBuffer bytes = ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
          client.write(bytes);
        }
      }
    } catch (IOException e) {
      // The client closed the connection, which some tests do on purpose.
      return;
    }
  }

  private static String read(SocketChannel client) throws IOException {
    final ByteArrayOutputStream request = new ByteArrayOutputStream();
    String head = "";
    while (!head.endsWith("\r\n\r\n")) {
      if (!readInto(request, client, 1)) {
        return null;
      }
      head = request.toString(StandardCharsets.ISO_8859_1);
    }
    if (!readInto(request, client, bodyLength(head))) {
      return null;
    }
    return request.toString(StandardCharsets.UTF_8);
  }

  private static boolean readInto(ByteArrayOutputStream request, SocketChannel client, int count)
      throws IOException {
    final ByteBuffer bytes = ByteBuffer.allocate(count);
    while (bytes.hasRemaining()) {
      if (client.read(bytes) < 0) {
        return false;
      }
    }
    request.writeBytes(bytes.array());
    return true;
  }

  private static int bodyLength(String head) {
    final String lower = head.toLowerCase(Locale.ROOT);
    final int at = lower.indexOf("content-length:");
    return at < 0 ? 0 : Integer.parseInt(lower.substring(at + 15, lower.indexOf('\r', at)).strip());
  }

  @Override
  public void close() throws IOException {
    server.close();
    Files.deleteIfExists(socket);
    Files.deleteIfExists(directory);
  }
}
