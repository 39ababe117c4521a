package agent.server.socket;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.xnio.ChannelListener;
import org.xnio.StreamConnection;
import org.xnio.XnioExecutor;

/**
 * Accepts clients on a Unix socket and assigns them to the I/O threads in turn. While there is no
 * room for a further connection, clients wait in the queue of the kernel.
 */
public final class UnixSocketListener implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(UnixSocketListener.class);
  private static final int ACCEPTS_PER_WAKEUP = 64;
  private static final long BACKOFF_MS = 100;
  private static final long ROOM_CHECK_MS = 20;
  private static final long JOIN_MS = 2_000;

  /** Accepts a client of a listening socket. */
  @FunctionalInterface
  interface Acceptor {
    /** Returns a client; null where none waits. */
    SocketChannel accept(ServerSocketChannel server) throws IOException;
  }

  private final ListeningSocket socket; // restored by the first I/O thread only
  private final UnixIoThread[] ioThreads;
  private final ChannelListener<? super StreamConnection> openListener;
  private final Acceptor acceptor;
  private final long stallLimitNs;
  private final OpenConnections connections;
  private SelectionKey key;
  private int next;
  private boolean isFailing;
  private volatile boolean isPaused; // written by the first I/O thread only, as is retry
  private XnioExecutor.Key retry;

  /**
   * Binds the socket; no client is accepted before {@link #start()}.
   *
   * @param path path of the socket
   * @param group group that may connect, or null for the group of the process
   * @param ioThreadCount I/O threads, at least 1
   * @param stallLimitMs how long a worker waits for a client that neither sends nor reads
   * @param maxConnections most connections, at least 1
   * @param openListener receives each connection, on its I/O thread
   * @throws agent.types.AlreadyInUseException naming the path and the process that listens on it
   * @throws IOException naming the path, where it cannot be bound
   */
  public UnixSocketListener(
      Path path,
      String group,
      int ioThreadCount,
      long stallLimitMs,
      int maxConnections,
      ChannelListener<? super StreamConnection> openListener)
      throws IOException {
    this(
        path,
        group,
        ioThreadCount,
        stallLimitMs,
        maxConnections,
        openListener,
        ServerSocketChannel::accept);
  }

  UnixSocketListener(
      Path path,
      String group,
      int ioThreadCount,
      long stallLimitMs,
      int maxConnections,
      ChannelListener<? super StreamConnection> openListener,
      Acceptor acceptor)
      throws IOException {
    this.openListener = openListener;
    this.acceptor = acceptor;
    this.stallLimitNs = TimeUnit.MILLISECONDS.toNanos(stallLimitMs);
    connections = new OpenConnections(maxConnections, this::onRoom);
    socket = new ListeningSocket("API socket", path, group);
    ioThreads = new UnixIoThread[ioThreadCount];
    for (int i = 0; i < ioThreadCount; i++) {
      ioThreads[i] = new UnixIoThread(i);
    }
  }

  /** Starts the I/O threads and accepts clients. */
  public void start() throws IOException {
    for (final UnixIoThread ioThread : ioThreads) {
      ioThread.start();
    }
    listen(socket.channel());
    connections.repeat(this::checkFile, ListeningSocket.CHECK_MS);
  }

  private void listen(ServerSocketChannel server) throws IOException {
    key = ioThreads[0].register(server, SelectionKey.OP_ACCEPT, readyOps -> acceptSome());
  }

  private void checkFile() {
    if (socket.isLost()) {
      ioThreads[0].execute(() -> socket.restore(this::listenAgain));
    }
  }

  private void listenAgain(ServerSocketChannel server) throws IOException {
    if (isPaused) {
      isPaused = false;
      retry.remove();
    }
    listen(server);
  }

  /** Returns why no client finds the socket; empty where its file is in its place. */
  public Optional<String> fault() {
    return socket.fault();
  }

  private void acceptSome() {
    try {
      for (int i = 0; i < ACCEPTS_PER_WAKEUP; i++) {
        if (!connections.hasRoom()) {
          if (i == 0) { // a client waits
            connections.closeLongestIdle(System.nanoTime());
          }
          if (!connections.hasReserve()) {
            if (i == 0) {
              pause(ROOM_CHECK_MS);
            }
            return;
          }
        }
        final SocketChannel channel = acceptor.accept(socket.channel());
        if (channel == null) {
          return;
        }
        isFailing = false;
        open(channel);
      }
    } catch (IOException e) {
      if (socket.channel().isOpen()) {
        onFailure(e);
      }
    }
  }

  /** Descriptors or memory are short: the client stays in the queue of the kernel. */
  private void onFailure(IOException failure) {
    if (!isFailing) {
      isFailing = true;
      LOGGER.warn(
          "API socket: accepting a client failed, retrying every {} ms: {}",
          BACKOFF_MS,
          IoFailure.reason(failure));
    }
    connections.closeLongestIdle(System.nanoTime());
    pause(BACKOFF_MS);
  }

  private void pause(long retryMs) {
    key.interestOps(0);
    isPaused = true;
    retry = ioThreads[0].executeAfter(this::resumeAccepts, retryMs, TimeUnit.MILLISECONDS);
  }

  private void onRoom() {
    if (isPaused
        && socket.channel().isOpen()
        && (connections.hasRoom() || connections.hasReserve())) {
      ioThreads[0].execute(this::resumeAccepts);
    }
  }

  private void resumeAccepts() {
    if (isPaused && key.isValid()) {
      isPaused = false;
      retry.remove();
      key.interestOps(SelectionKey.OP_ACCEPT);
    }
  }

  private void open(SocketChannel channel) throws IOException {
    channel.configureBlocking(false);
    connections.accepted();
    final UnixIoThread ioThread = ioThreads[next];
    next = (next + 1) % ioThreads.length;
    ioThread.execute(() -> handOver(ioThread, channel));
  }

  private void handOver(UnixIoThread ioThread, SocketChannel channel) {
    final UnixStreamConnection connection;
    try {
      connection = new UnixStreamConnection(ioThread, channel, stallLimitNs, connections);
    } catch (IOException e) { // the channel is closed
      LOGGER.warn("API socket: serving a client failed: {}", IoFailure.reason(e));
      connections.drop();
      return;
    }
    openListener.handleEvent(connection);
  }

  /** Returns the connections of clients. */
  public ConnectionCounts counts() {
    return connections.counts();
  }

  /** Stops accepting and removes the socket's file; connections stay. */
  public void stopAccepting() throws IOException {
    socket.close();
    ioThreads[0].wakeup();
  }

  /** Stops accepting and ends the I/O threads. */
  @Override
  public void close() throws IOException {
    stopAccepting();
    connections.close();
    for (final UnixIoThread ioThread : ioThreads) {
      ioThread.shutdown();
    }
    try {
      for (final UnixIoThread ioThread : ioThreads) {
        ioThread.join(JOIN_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
