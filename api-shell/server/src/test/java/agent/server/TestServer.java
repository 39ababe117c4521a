package agent.server;

import agent.testkit.api.DocumentedAnswers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A server on a socket of its own; a route without a handler answers with its name. What {@link
 * #exchange} gets must be as the OpenAPI document says: refusals always, and everything where the
 * handlers are those of the agent.
 */
public final class TestServer implements AutoCloseable {
  private static final Pattern REQUEST_LINE = Pattern.compile("([A-Z]+) (/\\S*) HTTP/1.1\r\n");
  private static final Pattern CONTENT_TYPE = Pattern.compile("(?mi)^Content-Type: *([^\\r]*)");
  private static final int FIRST_REFUSAL = 400;

  private final Path directory;
  private final Path socket;
  private final ApiServer server;
  private final boolean isAgent;

  private TestServer(ApiContext context, RouteTable routes, boolean isAgent) throws IOException {
    this.isAgent = isAgent;
    directory = Files.createTempDirectory("api");
    socket = directory.resolve("agent.sock");
    server = ApiServer.start(context.socketPath(socket), routes);
  }

  public static TestServer start(Map<Route, ApiHandler> handlers) throws IOException {
    return start(new ApiContext(), handlers);
  }

  static TestServer start(ApiContext context, Map<Route, ApiHandler> handlers) throws IOException {
    return new TestServer(context, RouteTable.of(withNames(handlers)), false);
  }

  /** Starts a server with handlers of the agent. */
  public static TestServer ofAgent(Map<Route, ApiHandler> handlers) throws IOException {
    return new TestServer(new ApiContext(), RouteTable.of(withNames(handlers)), true);
  }

  static TestServer starting(Map<Route, ApiHandler> handlers) throws IOException {
    return new TestServer(new ApiContext(), RouteTable.starting(handlers), false);
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
      final String answer = client.send(request).readAnswer();
      check(request, answer);
      return answer;
    }
  }

  private void check(String request, String answer) {
    final Matcher call = REQUEST_LINE.matcher(request);
    final int status = Integer.parseInt(answer.substring(9, 12));
    if (call.lookingAt() && (isAgent || status >= FIRST_REFUSAL)) {
      final int head = answer.indexOf("\r\n\r\n");
      final Matcher contentType = CONTENT_TYPE.matcher(answer.substring(0, head + 2));
      DocumentedAnswers.check(
          call.group(1),
          call.group(2),
          status,
          contentType.find() ? contentType.group(1) : null,
          answer.substring(head + 4));
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
