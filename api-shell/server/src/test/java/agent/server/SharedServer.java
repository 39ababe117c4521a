package agent.server;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A server as a process of its own, which never answers requests for rules. */
final class SharedServer {
  /** Most requests at work. */
  static final int LIMIT = 16;

  private SharedServer() {}

  /** Serves on the socket; {@code /healthz} is the number of requests that wait. */
  static void main(String[] arguments) throws Exception {
    final CountDownLatch never = new CountDownLatch(1);
    final AtomicInteger waiting = new AtomicInteger();
    final Map<Route, ApiHandler> handlers =
        Map.of(
            Route.GET_HEALTHZ,
            request -> Answer.ok(waiting.get()),
            Route.GET_POLICY,
            request -> {
              waiting.incrementAndGet();
              never.await();
              return Answer.ok("");
            });
    final ApiContext context =
        new ApiContext().socketPath(Path.of(arguments[0])).maxConnections(LIMIT);
    try (ApiServer _ = ApiServer.start(context, RouteTable.of(TestServer.withNames(handlers)))) {
      never.await();
    }
  }
}
