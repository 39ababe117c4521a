package agent.server.metrics;

import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import io.undertow.util.Methods;
import io.undertow.util.StatusCodes;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.xnio.Options;

/**
 * Serves the metrics, and nothing else, on a TCP address (option {@code --prometheus-serve-addr}):
 * {@code GET /metrics} in the formats of Prometheus.
 */
public final class MetricsServer implements AutoCloseable {
  private static final String OPTION = "prometheus-serve-addr: ";
  private static final int MOST_CONNECTIONS = 64;
  private static final int PARSE_TIMEOUT_MS = 10_000;
  private static final int IDLE_TIMEOUT_MS = 120_000;
  private static final int LARGEST_HEADER_BYTES = 16 * 1024;
  private static final int LARGEST_PORT = 65_535;

  private final Undertow server;

  private MetricsServer(Undertow server) {
    this.server = server;
  }

  /**
   * Reads the value of the option.
   *
   * @param text {@code IP:port}, {@code [IPv6]:port}, or {@code :port} for all interfaces; empty
   *     for none
   * @return the address; empty for none
   * @throws IllegalArgumentException naming the option
   */
  public static Optional<InetSocketAddress> address(String text) {
    if (text.isEmpty()) {
      return Optional.empty();
    }
    final int colon = text.lastIndexOf(':');
    final String host = colon < 0 ? "" : text.substring(0, colon);
    final int port = colon < 0 ? 0 : port(text.substring(colon + 1));
    if (port == 0) {
      throw new IllegalArgumentException(OPTION + "'" + text + "' is not IP:port or :port");
    }
    if (host.isEmpty()) {
      return Optional.of(new InetSocketAddress(port));
    }
    final boolean isBracketed = host.startsWith("[") && host.endsWith("]");
    final String literal = isBracketed ? host.substring(1, host.length() - 1) : host;
    if (isBracketed != literal.contains(":")) {
      throw new IllegalArgumentException(OPTION + "'" + text + "': IPv6 is written as [IP]:port");
    }
    try {
      return Optional.of(new InetSocketAddress(InetAddress.ofLiteral(literal), port));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(OPTION + "'" + host + "' is not an IP address", e);
    }
  }

  private static int port(String text) {
    final int port = text.matches("[0-9]{1,5}") ? Integer.parseInt(text) : 0;
    return port > LARGEST_PORT ? 0 : port;
  }

  /**
   * Checks that the address can be bound now, and leaves it free.
   *
   * @throws IllegalArgumentException naming the option where it cannot
   */
  public static void check(InetSocketAddress address) {
    try (ServerSocketChannel channel = ServerSocketChannel.open()) {
      channel.bind(address);
    } catch (IOException failure) {
      throw new IllegalArgumentException(
          OPTION
              + "'"
              + address.getAddress().getHostAddress()
              + "' port "
              + address.getPort()
              + ": "
              + failure.getMessage(),
          failure);
    }
  }

  /**
   * Binds the address and starts to serve.
   *
   * @param address where to listen
   * @param registry the metrics
   * @throws IllegalArgumentException naming the option where the address cannot be bound
   */
  public static MetricsServer start(InetSocketAddress address, MetricRegistry registry) {
    final Undertow server =
        Undertow.builder()
            .addHttpListener(address.getPort(), address.getAddress().getHostAddress())
            .setIoThreads(1)
            .setWorkerThreads(2)
            .setSocketOption(Options.CONNECTION_HIGH_WATER, MOST_CONNECTIONS)
            .setSocketOption(Options.CONNECTION_LOW_WATER, MOST_CONNECTIONS)
            .setServerOption(UndertowOptions.REQUEST_PARSE_TIMEOUT, PARSE_TIMEOUT_MS)
            .setServerOption(UndertowOptions.NO_REQUEST_TIMEOUT, IDLE_TIMEOUT_MS)
            .setServerOption(UndertowOptions.MAX_HEADER_SIZE, LARGEST_HEADER_BYTES)
            .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, 0L)
            .setHandler(exchange -> handle(exchange, registry))
            .build();
    try {
      server.start();
    } catch (RuntimeException failure) {
      final Throwable cause = failure.getCause() == null ? failure : failure.getCause();
      throw new IllegalArgumentException(OPTION + address + ": " + cause.getMessage(), failure);
    }
    return new MetricsServer(server);
  }

  private static void handle(HttpServerExchange exchange, MetricRegistry registry) {
    final String path = exchange.getRequestPath();
    if (!path.equals("/metrics") && !path.equals("/metrics/")) {
      refuse(exchange, StatusCodes.NOT_FOUND, "only /metrics is served here");
    } else if (!exchange.getRequestMethod().equals(Methods.GET)
        && !exchange.getRequestMethod().equals(Methods.HEAD)) {
      exchange.getResponseHeaders().put(Headers.ALLOW, "GET, HEAD");
      refuse(exchange, StatusCodes.METHOD_NOT_ALLOWED, "only GET is allowed here");
    } else {
      exchange.dispatch(() -> serve(exchange, registry));
    }
  }

  private static void serve(HttpServerExchange exchange, MetricRegistry registry) {
    final String accept = exchange.getRequestHeaders().getFirst(Headers.ACCEPT);
    final MetricText asked = accept == null ? null : MetricText.accepted(accept);
    final MetricText form = asked == null ? MetricText.PROMETHEUS : asked;
    send(exchange, form.contentType(), form.write(registry.collect()));
  }

  private static void refuse(HttpServerExchange exchange, int status, String message) {
    exchange.setStatusCode(status);
    send(exchange, "text/plain; charset=utf-8", message + "\n");
  }

  private static void send(HttpServerExchange exchange, String contentType, String text) {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, contentType);
    exchange.getResponseSender().send(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** Closes the listener and its connections. */
  @Override
  public void close() {
    server.stop();
  }
}
