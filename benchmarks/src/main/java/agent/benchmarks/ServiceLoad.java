package agent.benchmarks;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Clients that together create services, each its share one after the other. */
final class ServiceLoad {
  private static final int CLIENTS = 16;
  private static final int BACKENDS = 10;

  private final UnixDomainSocketAddress address;

  ServiceLoad(Path socket) {
    address = UnixDomainSocketAddress.of(socket);
  }

  /** Creates the services 1 to {@code count}; returns how many milliseconds that took. */
  long run(int count) throws Exception {
    final List<List<byte[]>> requests = new ArrayList<>();
    for (int client = 0; client < CLIENTS; client++) {
      requests.add(
          IntStream.iterate(client + 1, id -> id <= count, id -> id + CLIENTS)
              .mapToObj(ServiceLoad::request)
              .toList());
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
      final List<Callable<Void>> clients = new ArrayList<>();
      requests.forEach(own -> clients.add(() -> send(own)));
      final long startNs = System.nanoTime();
      for (final Future<Void> one : threads.invokeAll(clients)) {
        one.get();
      }
      return (System.nanoTime() - startNs) / 1_000_000;
    }
  }

  private Void send(List<byte[]> requests) throws IOException {
    try (HttpConnection connection = new HttpConnection(address)) {
      for (final byte[] request : requests) {
        connection.exchange(request);
      }
    }
    return null;
  }

  private static byte[] request(int id) {
    final String backends =
        IntStream.range(0, BACKENDS)
            .mapToObj(
                i ->
                    "{\"ip\":\"10.%d.%d.%d\",\"port\":8080}"
                        .formatted(64 + (id >> 12), id >> 4 & 0xff, (id & 0xf) << 4 | i))
            .collect(Collectors.joining(","));
    return HttpConnection.request(
        "PUT /service/" + id,
        """
        {"frontend-address":{"ip":"172.20.%d.%d","port":80,"protocol":"TCP"},\
        "backend-addresses":[%s],"flags":{"name":"service-%d","namespace":"bench"}}"""
            .formatted(id >> 8, id & 0xff, backends, id));
  }
}
