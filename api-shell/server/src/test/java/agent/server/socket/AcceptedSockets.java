package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** Connections of one I/O thread, and their clients; no listener accepts them. */
final class AcceptedSockets {
  final UnixIoThread ioThread;
  private final Path path;
  private final ServerSocketChannel server;
  private final List<SocketChannel> clients = new ArrayList<>();
  private SocketChannel accepted;

  AcceptedSockets(Path directory) throws IOException {
    ioThread = new UnixIoThread(0);
    ioThread.start();
    path = directory.resolve("socket");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(path));
  }

  /** Connects a client, which is {@link #last} then. */
  UnixStreamConnection connect(OpenConnections open, long stallLimitNs) throws IOException {
    final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
    client.connect(UnixDomainSocketAddress.of(path));
    clients.add(client);
    accepted = server.accept();
    accepted.configureBlocking(false);
    open.accepted();
    return new UnixStreamConnection(ioThread, accepted, stallLimitNs, open);
  }

  /** Returns the key of the connection that was made last; it has no interest then. */
  SelectionKey key(UnixStreamConnection last) throws IOException {
    final var conduit = (UnixSocketConduit) last.getSourceChannel().getConduit();
    return ioThread.register(accepted, 0, conduit);
  }

  /** Returns after the I/O thread has done what it had to do. */
  void ioTasks() {
    final CompletableFuture<Boolean> done = new CompletableFuture<>();
    ioThread.execute(() -> done.complete(true));
    assertTrue(done.join());
  }

  /** Returns the client that connected last. */
  SocketChannel last() {
    return clients.getLast();
  }

  void close() throws IOException, InterruptedException {
    for (final SocketChannel client : clients) {
      client.close();
    }
    server.close();
    ioThread.shutdown();
    assertTrue(ioThread.join(Duration.ofSeconds(60)));
  }

  /** Holds a thread, with what it is asked for meanwhile, until the latch is counted down. */
  static CountDownLatch hold(UnixIoThread ioThread) {
    final CountDownLatch held = new CountDownLatch(1);
    ioThread.execute(
        () -> {
          try {
            held.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    return held;
  }
}
