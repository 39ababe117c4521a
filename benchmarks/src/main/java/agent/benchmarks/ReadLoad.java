package agent.benchmarks;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
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

/** Reads one path over several connections, on each as fast as the answers come. */
final class ReadLoad {
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
    try (ExecutorService threads = Executors.newFixedThreadPool(connections)) {
      final List<Callable<Connection>> work = new ArrayList<>();
      for (int i = 0; i < connections; i++) {
        work.add(() -> new Connection().read(durationNs));
      }
      final long start = System.nanoTime();
      final List<Connection> done = new ArrayList<>();
      for (final Future<Connection> one : threads.invokeAll(work)) {
        done.add(one.get());
      }
      final double seconds = (System.nanoTime() - start) / 1e9;
      final int[] times = new int[BUCKETS];
      long count = 0;
      for (final Connection one : done) {
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

  private final class Connection {
    private final int[] times = new int[BUCKETS];
    private final ByteBuffer out = ByteBuffer.allocateDirect(request.length);
    private final ByteBuffer in = ByteBuffer.allocateDirect(LARGEST_ANSWER);
    private long count;
    private long length;

    Connection read(long durationNs) throws IOException {
      out.put(request).flip();
      try (SocketChannel channel = SocketChannel.open(address)) {
        final long start = System.nanoTime();
        long now = start;
        while (now - start < durationNs) {
          channel.write(out.rewind());
          length = answer(channel);
          final long before = now;
          now = System.nanoTime();
          times[(int) Math.min(BUCKETS - 1, (now - before) / 1000)]++;
          count++;
        }
      }
      return this;
    }

    /** Reads one answer and returns its length, with its head. */
    private long answer(SocketChannel channel) throws IOException {
      in.clear();
      int end = -1;
      while (end < 0 || in.position() < end) {
        if (channel.read(in) < 0) {
          throw new IOException("the daemon closed the connection");
        }
        if (end < 0) {
          end = end(in.position());
        }
      }
      return end;
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
