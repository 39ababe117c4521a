package agent.server.socket;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.xnio.conduits.ConduitStreamSinkChannel;
import org.xnio.conduits.ConduitStreamSourceChannel;

/**
 * Measures reads and writes of a connection of the API's socket on one thread, each with its
 * counterpart at the client.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class UnixSocketBenchmark {
  private static final int REQUEST_BYTES = 128;
  private static final int ANSWER_BYTES = 4096;
  private static final long NEVER_NS = TimeUnit.HOURS.toNanos(1);

  private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST_BYTES);
  private final ByteBuffer answer = ByteBuffer.allocateDirect(ANSWER_BYTES);
  private Path socket;
  private SocketChannel client;
  private UnixIoThread ioThread;
  private ConduitStreamSourceChannel source;
  private ConduitStreamSinkChannel sink;

  /** Connects a client to a connection of an I/O thread. */
  @Setup
  public void connect() throws IOException {
    socket = Files.createTempDirectory("agent-bench-").resolve("socket");
    ioThread = new UnixIoThread(0);
    ioThread.start();
    final OpenConnections open = new OpenConnections(1, () -> {});
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      client = SocketChannel.open(UnixDomainSocketAddress.of(socket));
      final SocketChannel accepted = server.accept();
      accepted.configureBlocking(false);
      open.accepted();
      final var connection = new UnixStreamConnection(ioThread, accepted, NEVER_NS, open);
      source = connection.getSourceChannel();
      sink = connection.getSinkChannel();
    }
  }

  /** Closes the client and ends the I/O thread. */
  @TearDown
  public void close() throws IOException, InterruptedException {
    client.close();
    ioThread.shutdown();
    ioThread.join(Duration.ofSeconds(10));
    Files.delete(socket);
    Files.delete(socket.getParent());
  }

  /** The client writes 128 bytes, and the connection reads them. */
  @Benchmark
  public int read() throws IOException {
    client.write(request.clear());
    return checked(source.read(request.clear()), REQUEST_BYTES);
  }

  /** The connection writes 4 KiB, and the client reads them. */
  @Benchmark
  public int write() throws IOException {
    sink.write(answer.clear());
    return checked(client.read(answer.clear()), ANSWER_BYTES);
  }

  private static int checked(int bytes, int expected) {
    if (bytes != expected) {
      throw new IllegalStateException(bytes + " of " + expected + " bytes");
    }
    return bytes;
  }
}
