package agent.server.socket;

import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A listening socket whose file is made again where it is removed or replaced; what another process
 * has put in its place stays. Its user calls {@link #restore} every {@link #CHECK_MS}.
 */
public final class ListeningSocket implements AutoCloseable {
  /** So often its user looks for the file. */
  public static final long CHECK_MS = 1_000;

  private static final Logger LOGGER = LogManager.getLogger(ListeningSocket.class);

  private final String title;
  private final SocketFile file;
  private final String group;
  private volatile ServerSocketChannel channel;
  private volatile String fault;
  private volatile boolean isClosed;

  /** Accepts clients of a channel from now on, and of the one before no more. */
  @FunctionalInterface
  public interface Acceptor {
    /** Replaces the previous channel, which is closed next. */
    void accept(ServerSocketChannel next) throws IOException;
  }

  /**
   * Listens at a path.
   *
   * @param title names the socket in the log
   * @param group group that may connect, or null for the group of the process
   * @throws agent.types.AlreadyInUseException naming the path and the process that listens on it
   * @throws IOException naming the path, where it cannot be bound
   */
  public ListeningSocket(String title, Path path, String group) throws IOException {
    this.title = title;
    this.group = group;
    file = new SocketFile(path);
    channel = file.listen(group);
  }

  /** Returns the channel that clients find now, which does not block. */
  public ServerSocketChannel channel() {
    return channel;
  }

  /** Returns why no client finds the socket; empty where its file is in its place. */
  public Optional<String> fault() {
    return Optional.ofNullable(fault);
  }

  /** Returns whether {@link #restore} has something to do. */
  boolean isLost() {
    return !isClosed && !file.isInPlace();
  }

  /** Listens again where the file is not in its place. */
  public synchronized void restore(Acceptor acceptor) {
    if (!isLost()) {
      return;
    }
    try {
      final ServerSocketChannel before = channel;
      channel = file.listen(group);
      acceptor.accept(channel);
      before.close();
      fault = null;
      LOGGER.warn("{} {}: the file was removed or replaced; creating it again", title, file);
    } catch (IOException | RuntimeException failure) {
      if (!String.valueOf(failure.getMessage()).equals(fault)) {
        LOGGER.error("{}: its file is missing: {}", title, failure.getMessage());
      }
      fault = String.valueOf(failure.getMessage());
    }
  }

  /** Stops listening and removes the file. */
  @Override
  public synchronized void close() throws IOException {
    isClosed = true;
    channel.close();
    file.remove();
  }
}
