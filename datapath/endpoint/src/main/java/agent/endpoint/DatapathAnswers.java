package agent.endpoint;

import agent.types.Refusal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits on the conductor's thread for what the datapath was asked to do, for a bounded time. */
final class DatapathAnswers {
  private final Duration timeout;

  DatapathAnswers(Duration timeout) {
    this.timeout = timeout;
  }

  /**
   * The answer.
   *
   * @param answer what was asked
   * @param what for the message, for example {@code endpoint 12: attach}
   * @return its value
   * @throws Refusal as the datapath refused it; FAILED where no answer came in time
   */
  <T> T await(CompletableFuture<T> answer, String what) {
    try {
      return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException failure) {
      final Refusal.Kind kind =
          failure.getCause() instanceof Refusal refusal ? refusal.kind() : Refusal.Kind.FAILED;
      throw Refusal.of(kind, "", what + ": " + failure.getCause().getMessage(), failure.getCause());
    } catch (TimeoutException failure) {
      throw Refusal.of(
          Refusal.Kind.FAILED,
          "",
          what + ": no answer of the datapath within " + timeout.toMillis() + " ms",
          failure);
    } catch (InterruptedException failure) {
      Thread.currentThread().interrupt();
      throw Refusal.of(Refusal.Kind.UNAVAILABLE, "", what + ": interrupted", failure);
    }
  }
}
