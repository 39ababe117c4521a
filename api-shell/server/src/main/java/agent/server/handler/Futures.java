package agent.server.handler;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for what another thread does; handlers run on virtual threads, which may. */
final class Futures {
  private static final long LIMIT_SEC = 120;

  private Futures() {}

  static <T> T await(CompletableFuture<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(LIMIT_SEC, TimeUnit.SECONDS);
  }
}
