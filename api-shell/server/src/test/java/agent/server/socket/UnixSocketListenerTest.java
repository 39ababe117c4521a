package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How clients are accepted, assigned to threads, and made to wait. */
@Timeout(60)
class UnixSocketListenerTest {
  @TempDir private Path directory;
  private final List<SocketChannel> clients = new ArrayList<>();
  private final BlockingQueue<UnixStreamConnection> served = new LinkedBlockingQueue<>();

  private UnixSocketListener listener(int threads, int limit) throws IOException {
    return new UnixSocketListener(
        directory.resolve("socket"),
        null,
        threads,
        60_000,
        limit,
        connection -> served.add((UnixStreamConnection) connection));
  }

  private SocketChannel connect() throws IOException {
    return connect("socket");
  }

  private SocketChannel connect(String file) throws IOException {
    final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
    clients.add(client);
    client.connect(UnixDomainSocketAddress.of(directory.resolve(file)));
    return client;
  }

  private boolean isListened(String file) {
    try {
      connect(file);
      return true;
    } catch (IOException refused) {
      return false;
    }
  }

  @AfterEach
  void close() throws IOException {
    for (final SocketChannel client : clients) {
      client.close();
    }
  }

  private UnixStreamConnection next() throws InterruptedException {
    return served.take();
  }

  @Test
  void shouldAcceptNoClientBeforeItsStart() throws Exception {
    try (UnixSocketListener listener = listener(1, 8)) {
      connect();
      assertNull(served.poll(20, TimeUnit.MILLISECONDS));
      assertEquals(0, listener.counts().open());
      listener.start();
      assertTrue(next().isOpen());
      assertEquals(new ConnectionCounts(1, 0, 8, 0, false), listener.counts());
    }
  }

  @Test
  void shouldAssignClientsToItsThreadsInTurn() throws Exception {
    final List<String> threads = new ArrayList<>();
    try (UnixSocketListener listener = listener(3, 8)) {
      listener.start();
      for (int i = 0; i < 4; i++) {
        connect();
        threads.add(((UnixIoThread) next().getIoThread()).getName());
      }
    }
    assertEquals(List.of("api-io-0", "api-io-1", "api-io-2", "api-io-0"), threads);
  }

  @Test
  void shouldAcceptAllThatWait() throws Exception {
    try (UnixSocketListener listener = listener(1, 1_000)) {
      for (int i = 0; i < 100; i++) {
        connect();
      }
      listener.start();
      for (int i = 0; i < 100; i++) {
        assertTrue(next().isOpen());
      }
      assertEquals(100, listener.counts().open());
    }
  }

  @Test
  void shouldLetAClientWaitUntilThereIsRoom() throws Exception {
    try (UnixSocketListener listener = listener(1, 1)) {
      listener.start();
      connect();
      final UnixStreamConnection first = next();
      first.beginRequest();
      connect();
      assertNull(served.poll(50, TimeUnit.MILLISECONDS));
      assertTrue(listener.counts().isFull());
      first.closeNow();
      assertTrue(next().isOpen());
      assertEquals(0, listener.counts().closedIdle());
    }
  }

  /** Nothing tells it that a request has ended: it looks again. */
  @Test
  void shouldReplaceAClientWhoseRequestHasEnded() throws Exception {
    try (UnixSocketListener listener = listener(2, 1)) {
      listener.start();
      connect();
      final UnixStreamConnection first = next();
      first.beginRequest();
      connect();
      while (!listener.counts().isFull()) {
        Thread.sleep(1);
      }
      first.endRequest();
      assertTrue(next().isOpen());
      assertFalse(first.isOpen());
      assertEquals(1, listener.counts().closedIdle());
    }
  }

  @Test
  void shouldKeepConnectionsWhenItAcceptsNoMore() throws Exception {
    try (UnixSocketListener listener = listener(1, 8)) {
      listener.start();
      final SocketChannel client = connect();
      final UnixStreamConnection connection = next();
      Files.createLink(directory.resolve("other"), directory.resolve("socket"));
      listener.stopAccepting();
      assertFalse(Files.exists(directory.resolve("socket")));
      assertThrows(IOException.class, this::connect);
      while (isListened("other")) {
        Thread.sleep(1); // until its thread has noticed
      }
      connection.getSinkChannel().write(ByteBuffer.wrap(new byte[] {'a'}));
      assertEquals(1, client.read(ByteBuffer.allocate(2)));
    }
  }

  @Test
  void shouldEndItsThreadsAndRemoveItsSocket() throws Exception {
    final UnixSocketListener listener = listener(2, 8);
    listener.start();
    final List<UnixIoThread> threads = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      connect();
      threads.add((UnixIoThread) next().getIoThread());
    }
    listener.close();
    assertFalse(threads.stream().anyMatch(Thread::isAlive));
    assertFalse(Files.exists(directory.resolve("socket")));
    listener.close();
  }
}
