package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.RecordedLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How clients are accepted, assigned to threads, and made to wait. */
@Timeout(60)
class UnixSocketListenerTest {
  /** A flag of the kernel, __SO_ACCEPTCON. */
  private static final String ACCEPTS = " 00010000 ";

  @TempDir private Path directory;
  private final List<SocketChannel> clients = new ArrayList<>();
  private final BlockingQueue<UnixStreamConnection> served = new LinkedBlockingQueue<>();

  private volatile UnixSocketListener.Acceptor acceptor = ServerSocketChannel::accept;

  private UnixSocketListener listener(int threads, int limit) throws IOException {
    return new UnixSocketListener(
        directory.resolve("socket"),
        null,
        threads,
        60_000,
        limit,
        connection -> served.add((UnixStreamConnection) connection),
        server -> acceptor.accept(server));
  }

  private SocketChannel connect() throws IOException {
    final SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX);
    clients.add(client);
    client.connect(UnixDomainSocketAddress.of(directory.resolve("socket")));
    return client;
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

  /** Starts a request on each connection above the limit. */
  private void fillReserve() throws Exception {
    for (int i = 0; i < OpenConnections.RESERVED; i++) {
      connect();
      next().beginRequest();
    }
  }

  private static void until(BooleanSupplier reached) throws InterruptedException {
    while (!reached.getAsBoolean()) {
      Thread.sleep(1); // the test has a time limit
    }
  }

  /**
   * Returns whether the kernel still takes clients for a socket that was bound below the folder.
   */
  private boolean isListening() {
    try {
      return Files.readAllLines(Path.of("/proc/net/unix")).stream()
          .anyMatch(line -> line.contains(ACCEPTS) && line.contains(directory.toString()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
      fillReserve();
      connect();
      until(() -> listener.counts().isFull());
      final long beforeNs = cpuNs(first.getIoThread());
      assertNull(served.poll(200, TimeUnit.MILLISECONDS));
      final long usedNs = cpuNs(first.getIoThread()) - beforeNs;
      assertTrue(usedNs < TimeUnit.MILLISECONDS.toNanos(40), usedNs + " ns");
      assertTrue(listener.counts().isFull());
      first.closeNow();
      assertTrue(next().isOpen());
      assertEquals(0, listener.counts().closedIdle());
    }
  }

  private static long cpuNs(Thread thread) {
    return ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.threadId());
  }

  @Test
  void shouldServeAllThatItAcceptedAfter64() throws Exception {
    final List<Integer> servedBefore = new CopyOnWriteArrayList<>();
    acceptor =
        server -> {
          servedBefore.add(served.size());
          return server.accept();
        };
    try (UnixSocketListener listener = listener(1, 1_000)) {
      for (int i = 0; i < 65; i++) {
        connect();
      }
      listener.start();
      until(() -> served.size() == 65);
    }
    assertEquals(0, servedBefore.get(63));
    assertEquals(64, servedBefore.get(64));
  }

  @Test
  void shouldSayOnceThatNoClientCanBeAcceptedAndTryAgainLater() throws Exception {
    try (RecordedLog log = RecordedLog.of(UnixSocketListener.class);
        UnixSocketListener listener = listener(1, 8)) {
      listener.start();
      for (int round = 0; round < 2; round++) {
        final List<Long> failuresNs = new CopyOnWriteArrayList<>();
        acceptor =
            server -> {
              if (failuresNs.size() < 3) {
                failuresNs.add(System.nanoTime());
                throw new IOException("planned");
              }
              return server.accept();
            };
        connect();
        next().beginRequest();
        final long tookNs = failuresNs.get(2) - failuresNs.get(0);
        assertTrue(tookNs >= TimeUnit.MILLISECONDS.toNanos(200), tookNs + " ns");
        assertEquals(
            List.of(
                "WARN API socket: accepting a client failed, retrying every 100 ms:" + " planned"),
            log.take());
      }
    }
  }

  /** Its descriptor is one that the new client may get. */
  @Test
  void shouldCloseAnIdleClientWhereNoneCanBeAccepted() throws Exception {
    try (UnixSocketListener listener = listener(1, 8)) {
      listener.start();
      connect();
      final UnixStreamConnection first = next();
      acceptor = server -> acceptAfter(first, new AtomicLong(), server);
      connect();
      assertTrue(next().isOpen());
      assertFalse(first.isOpen());
      assertEquals(1, listener.counts().closedIdle());
    }
  }

  private static SocketChannel acceptAfter(
      UnixStreamConnection first, AtomicLong failedNs, ServerSocketChannel server)
      throws IOException {
    if (first.isOpen()) {
      failedNs.set(System.nanoTime());
      throw new IOException("planned");
    }
    return server.accept();
  }

  @Test
  void shouldTryAgainAtOnceWhenAClientHasGone() throws Exception {
    try (UnixSocketListener listener = listener(1, 1_000)) {
      listener.start();
      long tookNs;
      do { // the machine may be slow, but without a cause it never tries again so early
        connect();
        final UnixStreamConnection first = next();
        first.beginRequest();
        final AtomicLong failedNs = new AtomicLong();
        acceptor = server -> acceptAfter(first, failedNs, server);
        connect();
        until(() -> failedNs.get() != 0);
        SleepingIoThread.await(first.getIoThread());
        first.closeNow();
        next().beginRequest();
        tookNs = System.nanoTime() - failedNs.get();
      } while (tookNs > TimeUnit.MILLISECONDS.toNanos(90));
    }
  }

  @Test
  void shouldHaveRoomAgainAfterAClientThatCannotBeServed() throws Exception {
    try (RecordedLog log = RecordedLog.of(UnixSocketListener.class);
        UnixSocketListener listener = listener(1, 2)) {
      final AtomicReference<SocketChannel> first = new AtomicReference<>();
      acceptor =
          server -> {
            if (first.get() == null) {
              first.set(server.accept());
              return first.get();
            }
            first.get().close(); // before it is handed over
            return server.accept();
          };
      connect();
      listener.start();
      while (log.take().isEmpty()) {
        Thread.sleep(1);
      }
      connect();
      assertTrue(next().isOpen());
      assertEquals(1, listener.counts().open());
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
      fillReserve();
      connect();
      until(() -> listener.counts().isFull());
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
      assertTrue(isListening());
      SleepingIoThread.await(connection.getIoThread());
      listener.stopAccepting();
      assertFalse(Files.exists(directory.resolve("socket")));
      assertThrows(IOException.class, this::connect);
      until(() -> !isListening()); // its thread has noticed
      connection.getSinkChannel().write(ByteBuffer.wrap(new byte[] {'a'}));
      assertEquals(1, client.read(ByteBuffer.allocate(2)));
    }
  }

  @Test
  void shouldMakeItsFileAgainWhereItIsRemovedOrReplaced() throws Exception {
    final Path socket = directory.resolve("socket");
    try (UnixSocketListener listener = listener(1, 8)) {
      listener.start();
      connect();
      final UnixStreamConnection kept = next();
      Files.delete(socket);
      until(() -> Files.exists(socket));
      connect();
      assertTrue(next().isOpen());
      try (ServerSocketChannel abandoned = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        Files.delete(socket);
        abandoned.bind(UnixDomainSocketAddress.of(socket));
      }
      until(() -> isConnected());
      assertTrue(next().isOpen());
      assertTrue(kept.isOpen());
      assertTrue(listener.fault().isEmpty());
    }
    assertFalse(Files.exists(socket));
  }

  private boolean isConnected() {
    try {
      connect();
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  @Test
  void shouldTellThatAnotherFileIsInThePlaceOfItsSocketAndLeaveIt() throws Exception {
    final Path socket = directory.resolve("socket");
    try (UnixSocketListener listener = listener(1, 8)) {
      listener.start();
      Files.delete(socket);
      Files.writeString(socket, "precious");
      until(() -> listener.fault().isPresent());
      assertTrue(
          listener.fault().get().endsWith("the file exists and is not a socket"),
          listener.fault().get());
      assertEquals("precious", Files.readString(socket));
      Files.delete(socket);
      until(() -> listener.fault().isEmpty());
      connect();
      assertTrue(next().isOpen());
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

  @Test
  void shouldWaitForItsThreadsUntilItIsInterrupted() throws Exception {
    final UnixSocketListener listener = listener(1, 8);
    listener.start();
    connect();
    final UnixIoThread ioThread = (UnixIoThread) next().getIoThread();
    final CountDownLatch held = AcceptedSockets.hold(ioThread);
    Thread.currentThread().interrupt();
    listener.close();
    assertTrue(Thread.interrupted(), "its caller was interrupted");
    assertTrue(ioThread.isAlive());
    held.countDown();
    ioThread.join();
  }
}
