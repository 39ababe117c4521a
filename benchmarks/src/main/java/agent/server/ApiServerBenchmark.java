package agent.server;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Measures a request over the API's socket, from the client's write to the whole answer. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ApiServerBenchmark {
  private static final int BODY_BYTES = 4096;

  private final ByteBuffer request = request("/healthz");
  private final ByteBuffer in = ByteBuffer.allocateDirect(2 * BODY_BYTES);
  private Path socket;
  private ApiServer server;
  private SocketChannel client;
  private int answerBytes;

  /** Starts a server of one answer and connects a client. */
  @Setup
  public void start() throws IOException {
    socket = Files.createTempDirectory("agent-bench-").resolve("socket");
    final RenderedAnswer answer =
        new RenderedAnswer(() -> 0, System::nanoTime, () -> "x".repeat(BODY_BYTES));
    server =
        ApiServer.start(
            new ApiContext().ioThreads(1).socketPath(socket),
            RouteTable.starting(
                handlers ->
                    handlers.put(
                        Route.GET_HEALTHZ,
                        ApiHandler.rendering(
                            answer, one -> answer.answer(one, () -> Answer.ok("large"))))));
    client = SocketChannel.open(UnixDomainSocketAddress.of(socket));
    client.write(request.clear());
    do {
      client.read(in);
    } while (in.get(in.position() - 1) != '"'); // the end of the body
    answerBytes = in.position();
  }

  private static ByteBuffer request(String path) {
    final byte[] bytes =
        ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes);
  }

  /** Ends the server. */
  @TearDown
  public void stop() throws IOException {
    client.close();
    server.close();
    Files.deleteIfExists(socket);
    Files.delete(socket.getParent());
  }

  /** Reads an answer of 4 KiB, which is rendered every 100 ms. */
  @Benchmark
  public int renderedRead() throws IOException {
    client.write(request.clear());
    in.clear();
    while (in.position() < answerBytes) {
      if (client.read(in) < 0) {
        throw new IOException("the server closed the connection");
      }
    }
    return in.position();
  }
}
