package agent.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Stream;

/** A server on a socket of its own; a route without a handler answers with its name. */
public final class TestServer implements AutoCloseable {
  private final Path directory;
  private final Path socket;
  private final ApiServer server;

  private TestServer(ApiContext context, RouteTable routes) throws IOException {
    directory = Files.createTempDirectory("api");
    socket = directory.resolve("agent.sock");
    server = ApiServer.start(context.socketPath(socket), routes);
  }

  public static TestServer start(Map<Route, ApiHandler> handlers) throws IOException {
    return start(new ApiContext(), handlers);
  }

  static TestServer start(ApiContext context, Map<Route, ApiHandler> handlers) throws IOException {
    return new TestServer(context, RouteTable.of(withNames(handlers)));
  }

  static TestServer starting(Map<Route, ApiHandler> handlers) throws IOException {
    return new TestServer(new ApiContext(), RouteTable.starting(handlers));
  }

  static Map<Route, ApiHandler> withNames(Map<Route, ApiHandler> handlers) {
    final Map<Route, ApiHandler> all = new EnumMap<>(Route.class);
    for (final Route route : Route.values()) {
      all.put(route, request -> Answer.ok(route.operationId()));
    }
    all.putAll(handlers);
    return all;
  }

  ApiServer server() {
    return server;
  }

  public Path socket() {
    return socket;
  }

  RawClient connect() throws IOException {
    return new RawClient(socket);
  }

  /** Sends one request on a connection of its own and returns the whole answer. */
  public String exchange(String request) throws IOException {
    try (RawClient client = connect()) {
      return client.send(request).readAnswer();
    }
  }

  static String request(String method, String path, String body) {
    return method
        + " "
        + path
        + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        + body.getBytes(java.nio.charset.StandardCharsets.UTF_8).length
        + "\r\n\r\n"
        + body;
  }

  static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }

  @Override
  public void close() throws IOException {
    server.close();
    try (Stream<Path> files = Files.walk(directory)) {
      for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
