package agent.endpoint.build;

import agent.types.OperationException;
import agent.types.Refusal;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Adapts futures that other threads complete: adds the operation to failure messages and collects
 * errors.
 */
public final class Answers {
  private Answers() {}

  /**
   * Returns the answer; the message of its failure begins with the operation.
   *
   * @param what for example {@code endpoint 12: attach}
   */
  public static <T> CompletableFuture<T> named(String what, CompletableFuture<T> answer) {
    return answer.exceptionally(
        failure -> {
          throw named(what, failure);
        });
  }

  /** Returns the failure; its message begins with the operation. */
  public static RuntimeException named(String what, Throwable failure) {
    final Throwable cause = cause(failure);
    final String message = what + ": " + cause.getMessage();
    return cause instanceof Refusal refusal
        ? Refusal.of(refusal.kind(), "", message, cause)
        : new OperationException(message, cause);
  }

  /** Returns a future that never fails; a failure of the answer is added to the errors. */
  public static CompletableFuture<Void> settled(List<String> errors, CompletableFuture<?> answer) {
    return answer.handle(
        (value, failure) -> {
          if (failure != null) {
            synchronized (errors) {
              errors.add(message(cause(failure)));
            }
          }
          return null;
        });
  }

  /** Runs a step; a failure is added to the errors. */
  public static void attempt(List<String> errors, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException failure) {
      errors.add(message(failure));
    }
  }

  /** Returns the cause of a future's failure, without {@link CompletionException}. */
  public static RuntimeException unwrapped(Throwable failure) {
    return cause(failure) instanceof RuntimeException known
        ? known
        : new CompletionException(failure);
  }

  private static Throwable cause(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  private static String message(Throwable failure) {
    return failure.getMessage() == null ? "failed without a cause" : failure.getMessage();
  }
}
