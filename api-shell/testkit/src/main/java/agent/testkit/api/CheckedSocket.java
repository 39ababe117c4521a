package agent.testkit.api;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A Unix socket before that of an agent: it passes on each request and its answer, one after the
 * other, and holds the answer against the OpenAPI document. Any client can be checked so.
 */
public final class CheckedSocket implements AutoCloseable {
  private static final int FIRST_REFUSAL = 400;

  private final Path agent;
  private final Path directory;
  private final ServerSocketChannel listener;
  private final List<String> failures = new CopyOnWriteArrayList<>();
  private final Set<String> operations = new ConcurrentSkipListSet<>();

  private CheckedSocket(Path agent, Path directory, ServerSocketChannel listener) {
    this.agent = agent;
    this.directory = directory;
    this.listener = listener;
  }

  /** Opens a socket before another one. */
  public static CheckedSocket before(Path agent) throws IOException {
    final Path directory = Files.createTempDirectory("checked");
    final ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(directory.resolve("agent.sock")));
    final CheckedSocket socket = new CheckedSocket(agent, directory, listener);
    Thread.ofVirtual().start(socket::accept);
    return socket;
  }

  /** Returns the path to connect to. */
  public Path path() {
    return directory.resolve("agent.sock");
  }

  /**
   * Returns the operations of the document that were called and did not fail, as {@code GET /map}.
   */
  public Set<String> operations() {
    return operations;
  }

  private void accept() {
    try {
      while (true) {
        final SocketChannel client = listener.accept();
        Thread.ofVirtual().start(() -> serve(client));
      }
    } catch (ClosedChannelException closed) {
      // the test has ended
    } catch (IOException e) {
      failures.add("accept: " + e);
    }
  }

  private void serve(SocketChannel client) {
    try (client;
        SocketChannel server = SocketChannel.open(UnixDomainSocketAddress.of(agent))) {
      final InputStream requests = new BufferedInputStream(Channels.newInputStream(client));
      final InputStream answers = new BufferedInputStream(Channels.newInputStream(server));
      final OutputStream toServer = Channels.newOutputStream(server);
      final OutputStream toClient = Channels.newOutputStream(client);
      for (HttpMessage request = HttpMessage.read(requests, false);
          request != null;
          request = HttpMessage.read(requests, false)) {
        toServer.write(request.sent());
        final HttpMessage answer = HttpMessage.read(answers, true);
        if (answer == null) {
          return;
        }
        check(request, answer);
        toClient.write(answer.sent());
      }
    } catch (IOException closed) {
      // a client or the agent ended the connection, which is theirs to do
    }
  }

  private void check(HttpMessage request, HttpMessage answer) {
    final String[] line = request.startLine().split(" ");
    try {
      final int status = Integer.parseInt(answer.startLine().substring(9, 12));
      DocumentedAnswers.check(
          line[0], line[1], status, answer.headers().get("content-type"), answer.body());
      if (status < FIRST_REFUSAL) {
        operations.add(
            line[0] + " " + OpenApiDocument.shipped().template(line[1].split("\\?", 2)[0]));
      }
    } catch (AssertionError | RuntimeException e) {
      failures.add(String.valueOf(e.getMessage()));
    }
  }

  /** Ends it, and fails where an answer was not as the document says. */
  @Override
  public void close() throws IOException {
    listener.close();
    Files.deleteIfExists(path());
    Files.deleteIfExists(directory);
    if (!failures.isEmpty()) {
      throw new AssertionError(String.join("\n", failures));
    }
  }
}
