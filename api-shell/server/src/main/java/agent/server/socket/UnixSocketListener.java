package agent.server.socket;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.xnio.ChannelListener;
import org.xnio.StreamConnection;

/** Accepts clients on a Unix socket and assigns them to the I/O threads in turn. */
public final class UnixSocketListener implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(UnixSocketListener.class);
  private static final int ACCEPTS_PER_WAKEUP = 64;
  private static final long BACKOFF_MS = 100;
  private static final long JOIN_MS = 2_000;

  private final SocketFile file;
  private final ServerSocketChannel server;
  private final UnixIoThread[] ioThreads;
  private final ChannelListener<? super StreamConnection> openListener;
  private final long stallLimitNs;
  private SelectionKey key;
  private int next;

  /**
   * Binds the socket; no client is accepted before {@link #start()}.
   *
   * @param path path of the socket
   * @param group group that may connect, or null for the group of the process
   * @param ioThreadCount I/O threads, at least 1
   * @param stallLimitMs how long a worker waits for a client that neither sends nor reads
   * @param openListener receives each connection, on its I/O thread
   * @throws IOException naming the path, where another process listens on it or it cannot be bound
   */
  public UnixSocketListener(
      Path path,
      String group,
      int ioThreadCount,
      long stallLimitMs,
      ChannelListener<? super StreamConnection> openListener)
      throws IOException {
    this.openListener = openListener;
    this.stallLimitNs = TimeUnit.MILLISECONDS.toNanos(stallLimitMs);
    file = new SocketFile(path);
    server = file.listen(group);
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
    key = ioThreads[0].register(server, SelectionKey.OP_ACCEPT, readyOps -> acceptSome());
  }

  private void acceptSome() {
    try {
      for (int i = 0; i < ACCEPTS_PER_WAKEUP; i++) {
        final SocketChannel channel = server.accept();
        if (channel == null) {
          return;
        }
        open(channel);
      }
    } catch (IOException e) {
      if (server.isOpen()) {
        LOGGER.warn("API socket: accepting pauses for {} ms: {}", BACKOFF_MS, e.getMessage());
        key.interestOps(0);
        ioThreads[0].executeAfter(this::resumeAccepts, BACKOFF_MS, TimeUnit.MILLISECONDS);
      }
    }
  }

  private void resumeAccepts() {
    if (key.isValid()) {
      key.interestOps(SelectionKey.OP_ACCEPT);
    }
  }

  private void open(SocketChannel channel) throws IOException {
    channel.configureBlocking(false);
    final UnixIoThread ioThread = ioThreads[next];
    next = (next + 1) % ioThreads.length;
    ioThread.execute(() -> handOver(ioThread, channel));
  }

  private void handOver(UnixIoThread ioThread, SocketChannel channel) {
    try {
      openListener.handleEvent(new UnixStreamConnection(ioThread, channel, stallLimitNs));
    } catch (IOException e) {
      LOGGER.warn("API socket: a client could not be served: {}", e.getMessage());
      try {
        channel.close();
      } catch (IOException suppressed) {
        LOGGER.debug("closing a client: {}", suppressed.getMessage());
      }
    }
  }

  /** Stops accepting and removes the socket's file; connections stay. */
  public void stopAccepting() throws IOException {
    server.close();
    ioThreads[0].wakeup();
    file.remove();
  }

  /** Stops accepting and ends the I/O threads. */
  @Override
  public void close() throws IOException {
    stopAccepting();
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
