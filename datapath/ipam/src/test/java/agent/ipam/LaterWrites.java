package agent.ipam;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;

/** Writes of leases that run when a test says so, as those of a slow disk do. */
final class LaterWrites {
  private final Deque<Write> writes = new ArrayDeque<>();

  private record Write(Runnable work, CompletableFuture<Void> done) {}

  CompletableFuture<Void> add(Runnable work) {
    final CompletableFuture<Void> done = new CompletableFuture<>();
    writes.add(new Write(work, done));
    return done;
  }

  int size() {
    return writes.size();
  }

  /** Runs the next write, and answers it. */
  void runNext() {
    final Write next = writes.remove();
    try {
      next.work().run();
    } catch (RuntimeException failure) {
      next.done().completeExceptionally(failure);
      return;
    }
    next.done().complete(null);
  }

  /** Runs what waits, and what it leads to. */
  void runAll() {
    while (!writes.isEmpty()) {
      runNext();
    }
  }

  /** Runs the next write, and fails it afterwards, as the sync of a disk does. */
  void failNext(RuntimeException failure) {
    final Write next = writes.remove();
    next.work().run();
    next.done().completeExceptionally(failure);
  }
}
