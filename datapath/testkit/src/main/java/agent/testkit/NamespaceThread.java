package agent.testkit;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A thread inside a namespace that does one piece of work after the other, where a thread for each
 * ({@link NetworkNamespace#call}) would take most of the time. It keeps the namespace alive until
 * it is closed.
 */
public final class NamespaceThread implements AutoCloseable {
  private final ExecutorService executor;
  private volatile Thread thread;

  /** Starts it. */
  public NamespaceThread(NetworkNamespace namespace) {
    executor =
        Executors.newSingleThreadExecutor(
            work -> {
              thread = Thread.ofPlatform().daemon().unstarted(namespace.entering(work));
              thread.setName("in-" + namespace.name());
              return thread;
            });
  }

  /**
   * Does the work on the thread, at once where the caller is this thread, with an {@link
   * IllegalStateException} in the place of a checked exception.
   */
  public <T> T call(Callable<T> work) {
    if (Thread.currentThread() == thread) {
      return NetworkNamespace.unchecked(work);
    }
    final Future<T> result = executor.submit(() -> NetworkNamespace.unchecked(work));
    return NetworkNamespace.unchecked(() -> NetworkNamespace.result(result));
  }

  @Override
  public void close() {
    executor.close();
  }
}
