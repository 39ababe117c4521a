package agent.benchmarks;

import agent.testkit.NetworkNamespace;
import agent.testkit.Workload;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** TCP between two workloads: a server that answers, and the loads of a client. */
final class TrafficLoad implements AutoCloseable {
  private static final int CHUNK = 128 * 1024;
  private static final int ECHO = 1;
  private static final int SINK = 2;

  private final NetworkNamespace client;
  private final ServerSocket listener;
  private InetSocketAddress target;

  /** Starts a server in one workload, to which the other connects over IPv4. */
  TrafficLoad(Workload client, Workload server) throws Exception {
    this(client.namespace(), server);
  }

  /** Starts a server in a workload, to which a client connects over IPv4. */
  TrafficLoad(NetworkNamespace client, Workload server) throws Exception {
    this.client = client;
    target = new InetSocketAddress(server.ipv4(), TrafficNode.PORT);
    listener =
        server
            .namespace()
            .run(
                () -> {
                  final ServerSocket socket = new ServerSocket();
                  socket.bind(target, 1024);
                  return socket;
                });
    server.namespace().start("bench-server", this::serve);
  }

  /** Makes the client connect to another address, by which it reaches the server, too. */
  TrafficLoad by(String address, int port) {
    target = new InetSocketAddress(address, port);
    return this;
  }

  private void serve() {
    while (!listener.isClosed()) {
      try (Socket socket = listener.accept()) {
        socket.setTcpNoDelay(true);
        answer(socket);
      } catch (IOException ended) {
        continue; // a client that went, or the close of the listener
      }
    }
  }

  private static void answer(Socket socket) throws IOException {
    final InputStream in = socket.getInputStream();
    final OutputStream out = socket.getOutputStream();
    final byte[] chunk = new byte[CHUNK];
    if (in.read() == SINK) {
      while (in.read(chunk) >= 0) {
        Thread.onSpinWait();
      }
      out.write(SINK);
      return;
    }
    out.write(ECHO);
    for (int byteRead = in.read(); byteRead >= 0; byteRead = in.read()) {
      out.write(byteRead);
    }
  }

  /** Returns the connections a second, each with a request and an answer of one byte. */
  double connections(long durationNs) throws Exception {
    return perSecond(durationNs, () -> exchange(connect()));
  }

  /** Returns the requests a second over one connection, of one byte like the answers. */
  double requests(long durationNs) throws Exception {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(ECHO);
      socket.getInputStream().read();
      return perSecond(
          durationNs,
          () -> {
            socket.getOutputStream().write(ECHO);
            return socket.getInputStream().read();
          });
    }
  }

  /** Returns the gigabits a second over one connection, until the server has read the last one. */
  double gigabits(long durationNs) throws Exception {
    final long startNs = System.nanoTime();
    long bytes = 0;
    try (Socket socket = connect()) {
      final byte[] chunk = new byte[CHUNK];
      socket.getOutputStream().write(SINK);
      while (System.nanoTime() - startNs < durationNs) {
        socket.getOutputStream().write(chunk);
        bytes += CHUNK;
      }
      socket.shutdownOutput();
      socket.getInputStream().read();
    }
    return bytes * 8.0 / (System.nanoTime() - startNs);
  }

  private static int exchange(Socket open) throws IOException {
    try (Socket socket = open) {
      socket.getOutputStream().write(ECHO);
      return socket.getInputStream().read();
    }
  }

  private Socket connect() throws Exception {
    final Socket socket = new Socket();
    socket.setTcpNoDelay(true);
    try {
      socket.connect(target, 5000);
    } catch (IOException refused) {
      socket.close();
      throw new IOException(target + ": " + refused.getMessage(), refused);
    }
    return socket;
  }

  /** Repeats the work in the client's namespace. */
  private double perSecond(long durationNs, Step step) throws Exception {
    final long startNs = System.nanoTime();
    long done = 0;
    while (System.nanoTime() - startNs < durationNs) {
      if (step.run() != ECHO) {
        throw new IOException("no answer from " + target);
      }
      done++;
    }
    return done * 1e9 / (System.nanoTime() - startNs);
  }

  /** Runs a load on a thread in the client's namespace. */
  double inClient(Load load, long durationNs) throws Exception {
    return client.run(() -> load.of(this, durationNs));
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }

  /** One of the loads of this class. */
  @FunctionalInterface
  interface Load {
    double of(TrafficLoad traffic, long durationNs) throws Exception;
  }

  /** One exchange; returns the byte that was received. */
  @FunctionalInterface
  private interface Step {
    int run() throws Exception;
  }
}
