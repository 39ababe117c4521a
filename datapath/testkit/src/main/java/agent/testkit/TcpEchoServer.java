package agent.testkit;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A TCP echo server on every address of a namespace; counts connections and bytes. */
public final class TcpEchoServer implements AutoCloseable {
  private final ServerSocket listener;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicLong connections = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();

  private final Thread acceptor;

  private TcpEchoServer(ServerSocket listener) {
    this.listener = listener;
    acceptor = Thread.ofPlatform().name("echo-tcp").daemon().unstarted(this::accept);
  }

  /** Listens on the port; clients are served as soon as this returns. */
  public static TcpEchoServer start(NetworkNamespace namespace, int port) {
    try {
      final TcpEchoServer server =
          new TcpEchoServer(namespace.run(() -> new ServerSocket(port, 128)));
      server.acceptor.start();
      return server;
    } catch (Exception failure) {
      throw new IllegalStateException("TCP echo server on port " + port, failure);
    }
  }

  /** Returns the number of accepted connections. */
  public long connections() {
    return connections.get();
  }

  /** Returns the number of received bytes. */
  public long bytes() {
    return bytes.get();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        final Socket socket = listener.accept();
        connections.incrementAndGet();
        open.add(socket);
        Thread.ofPlatform().name("echo-connection").daemon().start(() -> echo(socket));
      } catch (IOException closed) {
        return;
      }
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
    TcpConnection.join(acceptor);
    for (final Socket socket : open) {
      socket.close();
    }
  }
}
