package agent.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Reads one path over several connections, on each as fast as the answers come. Two threads wait
 * for the answers of all: a thread that waits in a read of its own connection is woken twice for an
 * answer, the first time when its request is read.
 */
final class ReadLoad {
  private static final int THREADS = 2;
  private static final int LARGEST_ANSWER = 4 << 20;
  private static final int BUCKETS = 1_000_000;
  private static final byte[] END_OF_HEAD = {'\r', '\n', '\r', '\n'};
  private static final byte[] LENGTH = "Content-Length: ".getBytes(StandardCharsets.US_ASCII);

  private final UnixDomainSocketAddress address;
  private final byte[] request;

  ReadLoad(Path socket, String path) {
    address = UnixDomainSocketAddress.of(socket);
    request =
        ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * What was measured.
   *
   * @param perSecond answers a second
   * @param p99Us the time of the slowest answer but one of a hundred, in microseconds
   * @param answerBytes the size of the last answer
   */
  record Result(double perSecond, long p99Us, long answerBytes) {}

  /** Reads for so long, after half of it for warming up. */
  Result run(int connections, int seconds) throws Exception {
    measure(connections, TimeUnit.SECONDS.toNanos(seconds) / 2);
    return measure(connections, TimeUnit.SECONDS.toNanos(seconds));
  }

  private Result measure(int connections, long durationNs) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      final List<Callable<Client>> work = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        work.add(() -> new Client().read(connections / THREADS, durationNs));
      }
      final long start = System.nanoTime();
      final List<Client> done = new ArrayList<>();
      for (final Future<Client> one : threads.invokeAll(work)) {
        done.add(one.get());
      }
      final double seconds = (System.nanoTime() - start) / 1e9;
      final int[] times = new int[BUCKETS];
      long count = 0;
      for (final Client one : done) {
        count += one.count;
        for (int i = 0; i < BUCKETS; i++) {
          times[i] += one.times[i];
        }
      }
      return new Result(count / seconds, percentile(times, count), done.getFirst().length);
    }
  }

  private static long percentile(int[] times, long count) {
    long left = count / 100;
    for (int us = BUCKETS - 1; us > 0; us--) {
      left -= times[us];
      if (left < 0) {
        return us;
      }
    }
    return 0;
  }

  /** One thread with its connections, each of which sends when its answer is there. */
  private final class Client {
    private final int[] times = new int[BUCKETS];
    private long count;
    private long length;

    Client read(int connections, long durationNs) throws IOException {
      try (Selector selector = Selector.open()) {
        try {
          for (int i = 0; i < connections; i++) {
            final Connection connection = new Connection();
            connection.channel.register(selector, SelectionKey.OP_READ, connection);
            connection.ask();
          }
          final long end = System.nanoTime() + durationNs;
          while (System.nanoTime() < end) {
            selector.select(this::receive);
          }
        } finally {
          for (final SelectionKey key : selector.keys()) {
            key.channel().close();
          }
        }
      } catch (UncheckedIOException failure) {
        throw failure.getCause();
      }
      return this;
    }

    private void receive(SelectionKey key) {
      final Connection connection = (Connection) key.attachment();
      try {
        if (connection.isAnswered()) {
          final long us = (System.nanoTime() - connection.askedNs) / 1000;
          times[(int) Math.min(BUCKETS - 1, us)]++;
          count++;
          length = connection.end;
          connection.ask();
        }
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }

  private final class Connection {
    private final SocketChannel channel = SocketChannel.open(address);
    private final ByteBuffer out = ByteBuffer.allocateDirect(request.length).put(request);
    private final ByteBuffer in = ByteBuffer.allocateDirect(LARGEST_ANSWER);
    private int end;
    private long askedNs;

    Connection() throws IOException {
      channel.configureBlocking(false);
    }

    /** The socket's buffer has room for it, because the request before it is answered. */
    void ask() throws IOException {
      in.clear();
      end = -1;
      askedNs = System.nanoTime();
      channel.write(out.rewind());
    }

    /** Reads what has arrived; returns whether the answer is complete, with its end known. */
    boolean isAnswered() throws IOException {
      if (channel.read(in) < 0) {
        throw new IOException("the daemon closed the connection");
      }
      if (end < 0) {
        end = end(in.position());
      }
      return end >= 0 && in.position() >= end;
    }

    private int end(int received) throws IOException {
      final int body = after(END_OF_HEAD, received);
      if (body < 0) {
        return -1;
      }
      if (in.get(9) != '2') {
        throw new IOException("the answer is not a success");
      }
      int bytes = 0;
      for (int i = after(LENGTH, received); in.get(i) >= '0'; i++) {
        bytes = bytes * 10 + in.get(i) - '0';
      }
      return body + bytes;
    }

    private int after(byte[] text, int received) {
      for (int i = 0; i + text.length <= received; i++) {
        int same = 0;
        while (same < text.length && in.get(i + same) == text[same]) {
          same++;
        }
        if (same == text.length) {
          return i + same;
        }
      }
      return -1;
    }
  }
}
