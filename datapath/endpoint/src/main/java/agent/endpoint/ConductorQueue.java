package agent.endpoint;

import agent.types.Refusal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** The caller's side of the conductor's queue: work goes in, a future comes back. */
final class ConductorQueue {
  private static final Logger LOGGER = LogManager.getLogger(ConductorQueue.class);

  private final ConductorThread thread;

  ConductorQueue(ConductorThread thread) {
    this.thread = thread;
  }

  <T> CompletableFuture<T> ask(Supplier<T> work) {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    try {
      thread.execute(() -> run(work, answer));
    } catch (RejectedExecutionException closed) {
      answer.completeExceptionally(
          Refusal.of(Refusal.Kind.UNAVAILABLE, "", "the agent is shutting down", closed));
    }
    return answer;
  }

  private static <T> void run(Supplier<T> work, CompletableFuture<T> answer) {
    final T value;
    try {
      value = work.get();
    } catch (Refusal refusal) {
      answer.completeExceptionally(refusal);
      return;
    } catch (RuntimeException failure) {
      LOGGER.error("unexpected failure: {}", failure.toString(), failure);
      answer.completeExceptionally(
          Refusal.of(Refusal.Kind.FAILED, "", failure.toString(), failure));
      return;
    } catch (Error failure) {
      answer.completeExceptionally(failure);
      throw failure;
    }
    answer.complete(value);
  }
}
