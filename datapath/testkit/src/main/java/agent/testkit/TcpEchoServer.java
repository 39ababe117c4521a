package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A TCP echo server on every address of a namespace; counts connections and bytes. */
public final class TcpEchoServer implements AutoCloseable {
  private static final int BACKLOG = 128;

  private final ServerSocketChannel listener;
  private final Selector selector;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicLong bytes = new AtomicLong();

  private final Thread acceptor;
  private long connections;

  private TcpEchoServer(ServerSocketChannel listener) throws IOException {
    this.listener = listener;
    selector = Selector.open();
    listener.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
    acceptor = Thread.ofPlatform().name("echo-tcp").daemon().unstarted(this::accept);
  }

  /** Listens on the port; clients are served as soon as this returns. */
  public static TcpEchoServer start(NetworkNamespace namespace, int port) {
    try {
      final TcpEchoServer server =
          new TcpEchoServer(
              namespace.run(
                  () -> ServerSocketChannel.open().bind(new InetSocketAddress(port), BACKLOG)));
      server.acceptor.start();
      return server;
    } catch (Exception failure) {
      throw new IllegalStateException("TCP echo server on port " + port, failure);
    }
  }

  /** Returns the number of connections, with those that a client has and no thread has taken. */
  public long connections() {
    try {
      acceptAll();
    } catch (ClosedChannelException closed) {
      // What is counted stays.
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    synchronized (this) {
      return connections;
    }
  }

  /** Returns the number of received bytes. */
  public long bytes() {
    return bytes.get();
  }

  private void accept() {
    try {
      while (listener.isOpen()) {
        selector.select();
        selector.selectedKeys().clear();
        acceptAll();
      }
    } catch (IOException | ClosedSelectorException closed) {
      return;
    }
  }

  private synchronized void acceptAll() throws IOException {
    for (SocketChannel next = listener.accept(); next != null; next = listener.accept()) {
      final Socket socket = next.socket();
      connections++;
      open.add(socket);
      Thread.ofPlatform().name("echo-connection").daemon().start(() -> echo(socket));
    }
  }

  private void echo(Socket socket) {
    final byte[] buffer = new byte[65536];
    try (socket) {
      socket.setTcpNoDelay(true);
      int length = socket.getInputStream().read(buffer);
      while (length > 0) {
        bytes.addAndGet(length); // before the answer, so that its receiver finds them counted
        socket.getOutputStream().write(buffer, 0, length);
        length = socket.getInputStream().read(buffer);
      }
    } catch (IOException ended) {
      // The client closed the connection.
    } finally {
      open.remove(socket);
    }
  }

  /** Stops the server; the port is free when this returns. */
  @Override
  public void close() throws IOException {
    listener.close();
    selector.close(); // which frees the port
    TcpConnection.join(acceptor);
    for (final Socket socket : open) {
      socket.close();
    }
  }
}
