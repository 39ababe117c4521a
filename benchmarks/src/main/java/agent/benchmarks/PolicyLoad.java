package agent.benchmarks;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
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
    try (HttpConnection connection = new HttpConnection(address)) {
      long dueNs = firstNs;
      for (int i = 0; System.nanoTime() < endNs; i++) {
        for (long left = dueNs - System.nanoTime(); left > 0; left = dueNs - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        dueNs += intervalNs;
        final byte[] request =
            client < 0 ? HttpConnection.request("GET /healthz", "") : change(client, i);
        final long sentNs = System.nanoTime();
        connection.exchange(request);
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
    return HttpConnection.request("PUT /policy?replace=true", rule);
  }
}
