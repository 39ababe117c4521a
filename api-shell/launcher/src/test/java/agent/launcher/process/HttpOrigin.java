package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;

/** An HTTP server in a namespace, which answers with the address that it sees of its client. */
final class HttpOrigin implements AutoCloseable {
  private static final int MOST_REQUESTS = 1000;

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();
  private volatile Map<String, List<String>> lastFields = Map.of();

  private HttpOrigin(HttpServer server) {
    this.server = server;
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  static HttpOrigin start(NetworkNamespace namespace, int port) throws Exception {
    return new HttpOrigin(
        namespace.run(() -> HttpServer.create(new InetSocketAddress("::", port), 0)));
  }

  private void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    lastFields = Map.copyOf(exchange.getRequestHeaders());
    final String request = exchange.getRequestMethod() + " " + exchange.getRequestURI();
    counts.computeIfAbsent(request, first -> new LongAdder()).increment();
    if (requests.size() < MOST_REQUESTS) {
      requests.add(request);
    }
    final byte[] body =
        ("from " + exchange.getRemoteAddress().getAddress().getHostAddress())
            .getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  /** Returns the first requests that have reached it, as method and target. */
  List<String> requests() {
    return requests;
  }

  /** Returns the fields of the last request; a name has its first letter alone in upper case. */
  Map<String, List<String>> lastFields() {
    return lastFields;
  }

  /** Returns the different requests that have reached it. */
  Set<String> different() {
    return Set.copyOf(counts.keySet());
  }

  /** Returns how often a request has reached it. */
  long count(String request) {
    final LongAdder count = counts.get(request);
    return count == null ? 0 : count.sum();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
