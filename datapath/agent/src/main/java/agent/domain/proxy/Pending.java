package agent.domain.proxy;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The calls to the other process that have no answer yet.
 *
 * @param <T> what the answer says
 */
final class Pending<T> {
  private final AtomicLong numbers = new AtomicLong();
  private final Map<Long, CompletableFuture<T>> calls = new ConcurrentHashMap<>();
  private volatile RuntimeException end;

  /** Returns the number of a new call. */
  long begin(CompletableFuture<T> answer) {
    final long number = numbers.incrementAndGet();
    calls.put(number, answer);
    if (end != null) {
      fail(number, end);
    }
    return number;
  }

  /** Completes a call; does nothing where there is not one of this number. */
  void complete(long number, T value) {
    final CompletableFuture<T> answer = calls.remove(number);
    if (answer != null) {
      answer.complete(value);
    }
  }

  boolean has(long number) {
    return calls.containsKey(number);
  }

  void fail(long number, RuntimeException failure) {
    final CompletableFuture<T> answer = calls.remove(number);
    if (answer != null) {
      answer.completeExceptionally(failure);
    }
  }

  /** Fails all calls, and those that come. */
  void failAll(RuntimeException failure) {
    end = failure;
    calls.keySet().forEach(number -> fail(number, failure));
  }
}
