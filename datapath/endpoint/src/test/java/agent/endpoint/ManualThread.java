package agent.endpoint;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;

/** The conductor's thread and its clock in the hands of a test: nothing runs until it says so. */
final class ManualThread implements ConductorThread, InstantSource {
  private record Timed(Instant due, Runnable work) {}

  private final Deque<Runnable> queue = new ArrayDeque<>();
  private final List<Timed> timers = new ArrayList<>();
  private Instant now = Instant.parse("2026-11-20T00:00:00Z");

  @Override
  public void execute(Runnable work) {
    queue.add(work);
  }

  @Override
  public void schedule(Duration delay, Runnable work) {
    timers.add(new Timed(now.plus(delay), work));
  }

  @Override
  public void close() {
    queue.clear();
    timers.clear();
  }

  @Override
  public Instant instant() {
    return now;
  }

  /** Runs the next piece of work that is due. */
  void runOne() {
    queue.remove().run();
  }

  /** Runs what is due now. */
  void run() {
    while (!queue.isEmpty()) {
      queue.remove().run();
    }
  }

  /** Lets time pass, and runs what becomes due in its order. */
  void advance(Duration time) {
    final Instant end = now.plus(time);
    run();
    while (true) {
      final Timed next =
          timers.stream()
              .filter(timer -> !timer.due().isAfter(end))
              .min(Comparator.comparing(Timed::due))
              .orElse(null);
      if (next == null) {
        break;
      }
      timers.remove(next);
      now = next.due();
      next.work().run();
      run();
    }
    now = end;
  }
}
