package agent.l7proxy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A server on loopback that runs a script for each connection. */
final class OriginServer implements AutoCloseable {
  /** What it does with a connection; it is closed afterwards. */
  @FunctionalInterface
  interface Script {
    void run(HttpSocket connection) throws Exception;
  }

  final List<HttpSocket.Message> requests = new CopyOnWriteArrayList<>();
  final AtomicInteger connections = new AtomicInteger();
  private final ServerSocket listener;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();

  /** Starts a server with a script. */
  OriginServer(Script script) throws IOException {
    listener = new ServerSocket(0, 4096, InetAddress.getByName("127.0.0.1"));
    Thread.ofPlatform().daemon().start(() -> accept(script));
  }

  /** Starts a server that answers each request with its method, path and body. */
  static OriginServer answering() throws IOException {
    final OriginServer[] self = new OriginServer[1];
    final OriginServer server = new OriginServer(connection -> self[0].answer(connection));
    self[0] = server;
    return server;
  }

  private void answer(HttpSocket connection) throws IOException {
    for (HttpSocket.Message request = connection.request();
        request != null;
        request = connection.request()) {
      requests.add(request);
      final boolean isHead = request.start().startsWith("HEAD ");
      final String body = request.start().replace(" HTTP/1.1", "") + "|" + request.text();
      connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(body.length(), isHead ? "" : body));
    }
  }

  int port() {
    return listener.getLocalPort();
  }

  private void accept(Script script) {
    while (!listener.isClosed()) {
      try {
        final Socket socket = listener.accept();
        sockets.add(socket);
        connections.incrementAndGet();
        Thread.ofVirtual().start(() -> serve(socket, script));
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  private static void serve(Socket socket, Script script) {
    try (HttpSocket connection = new HttpSocket(socket)) {
      script.run(connection);
    } catch (Exception e) {
      // the client has gone, or the test has ended
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (final Socket socket : sockets) {
      socket.close();
    }
  }
}
