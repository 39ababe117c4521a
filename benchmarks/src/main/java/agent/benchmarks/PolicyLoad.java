package agent.benchmarks;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Clients that each replace a rule of their own, all together at a given rate or as fast as the
 * answers come, while another one reads {@code /healthz}.
 */
final class PolicyLoad {
  private static final int CLIENTS = 64;
  private static final int HEALTH_INTERVAL_MS = 5;
  private static final int LARGEST_ANSWER = 256 * 1024;
  private static final String LENGTH = "Content-Length: ";

  private final UnixDomainSocketAddress address;

  PolicyLoad(Path socket) {
    address = UnixDomainSocketAddress.of(socket);
  }

  /**
   * What was measured; times are in microseconds.
   *
   * @param perSecond changes a second that were answered
   */
  record Result(
      double perSecond, long changeP50Us, long changeP99Us, long healthP50Us, long healthP99Us) {}

  /**
   * Changes policy for so long.
   *
   * @param perSecond changes of all clients a second, or 0: as many as are answered
   */
  Result run(int perSecond, int seconds) throws Exception {
    final long startNs = System.nanoTime();
    final long endNs = startNs + TimeUnit.SECONDS.toNanos(seconds);
    final long intervalNs = perSecond == 0 ? 0 : TimeUnit.SECONDS.toNanos(CLIENTS) / perSecond;
    try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS + 1)) {
      final Future<List<Long>> health =
          threads.submit(() -> call(startNs, endNs, HEALTH_INTERVAL_MS * 1_000_000L, -1));
      final List<Callable<List<Long>>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        final int client = i;
        final long firstNs = startNs + intervalNs * client / CLIENTS;
        clients.add(() -> call(firstNs, endNs, intervalNs, client));
      }
      final List<Long> changes = new ArrayList<>();
      for (final Future<List<Long>> one : threads.invokeAll(clients)) {
        changes.addAll(one.get());
      }
      final long[] changed = sortedUs(changes);
      final long[] read = sortedUs(health.get());
      return new Result(
          (double) changed.length / seconds,
          changed[changed.length / 2],
          changed[changed.length * 99 / 100],
          read[read.length / 2],
          read[read.length * 99 / 100]);
    }
  }

  private static long[] sortedUs(List<Long> times) {
    final long[] sorted = times.stream().mapToLong(ns -> ns / 1000).toArray();
    Arrays.sort(sorted);
    return sorted;
  }

  /**
   * Calls at the given times, each as soon as the one before is answered.
   *
   * @param client the number of the client that changes policy, or -1 for the one that reads
   * @return nanoseconds of each call
   */
  private List<Long> call(long firstNs, long endNs, long intervalNs, int client)
      throws IOException {
    final List<Long> times = new ArrayList<>();
    try (SocketChannel channel = SocketChannel.open(address)) {
      long dueNs = firstNs;
      for (int i = 0; System.nanoTime() < endNs; i++) {
        for (long left = dueNs - System.nanoTime(); left > 0; left = dueNs - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        dueNs += intervalNs;
        final byte[] request = client < 0 ? bytes("GET /healthz", "") : change(client, i);
        final long sentNs = System.nanoTime();
        exchange(channel, request);
        times.add(System.nanoTime() - sentNs);
      }
    }
    return times;
  }

  private static byte[] change(int client, int number) {
    final String rule =
        """
        [{"endpointSelector":{"matchLabels":{"app":"bench"}},"ingress":[{"fromEndpoints":\
        [{"matchLabels":{"app":"client"}}],"toPorts":[{"ports":[{"port":"%d","protocol":"TCP"}]}]}],\
        "labels":[{"key":"client","value":"%d"}]}]"""
            .formatted(1000 + client * 100 + number % 100, client);
    return bytes("PUT /policy?replace=true", rule);
  }

  private static byte[] bytes(String line, String body) {
    final String type = body.isEmpty() ? "" : "Content-Type: application/json\r\n";
    final String head =
        "%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n"
            .formatted(line, type, body.length());
    return (head + body).getBytes(StandardCharsets.US_ASCII);
  }

  /** Sends a request and reads its answer, which has to be a success. */
  private static void exchange(SocketChannel channel, byte[] request) throws IOException {
    final ByteBuffer out = ByteBuffer.wrap(request);
    while (out.hasRemaining()) {
      channel.write(out);
    }
    final ByteBuffer in = ByteBuffer.allocate(LARGEST_ANSWER);
    do {
      if (channel.read(in) < 0) {
        throw new IOException("the daemon closed the connection");
      }
    } while (!isComplete(new String(in.array(), 0, in.position(), StandardCharsets.ISO_8859_1)));
  }

  /** The end of a chunked answer is that of its last chunk. */
  private static boolean isComplete(String answer) throws IOException {
    final int body = answer.indexOf("\r\n\r\n") + 4;
    if (body < 4) {
      return false;
    }
    if (answer.charAt(9) != '2') {
      throw new IOException(answer);
    }
    final int length = answer.indexOf(LENGTH);
    return length < 0 || length > body
        ? answer.endsWith("\r\n0\r\n\r\n")
        : answer.length()
            >= body
                + Integer.parseInt(
                    answer.substring(length + LENGTH.length(), answer.indexOf('\r', length)));
  }
}
