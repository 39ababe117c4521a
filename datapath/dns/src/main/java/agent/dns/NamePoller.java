package agent.dns;

import agent.conductor.Faults;
import agent.dns.NameResolver.Resolved;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Looks names up again and again: a new one at once, one with an answer when its time to live ends,
 * and one without with growing pauses, both between two bounds. Only so many are looked up at the
 * same time, so that a server that is slow or gone holds up its names and nothing else.
 */
final class NamePoller {
  static final int MOST_IN_FLIGHT = 64;
  private static final String FAULT = "poller";
  private static final int MOST_DOUBLINGS = 10;

  /**
   * How often a name is looked up.
   *
   * @param leastMs the shortest pause
   * @param mostMs the longest pause
   */
  record Pauses(long leastMs, long mostMs) {
    static final Pauses DEFAULT = new Pauses(5_000, 60_000);

    private long after(long pauseMs) {
      return Math.clamp(pauseMs, leastMs, mostMs);
    }
  }

  /** A name that was looked up. */
  record Found(String name, Resolved answer) {}

  private record Ended(Poll poll, Resolved answer, Throwable failure) {}

  private static final class Poll {
    private final String name;
    private long dueMs;
    private int failures;

    private Poll(String name) {
      this.name = name;
    }
  }

  private final NameResolver resolver;
  private final Pauses pauses;
  private final Faults faults;
  private final Map<String, Poll> polls = new HashMap<>();
  private final PriorityQueue<Poll> due =
      new PriorityQueue<>((one, other) -> Long.compare(one.dueMs, other.dueMs));
  private final Queue<Ended> ended = new ConcurrentLinkedQueue<>();
  private final TreeMap<String, String> failing = new TreeMap<>();
  private Set<String> wanted = Set.of();
  private int running;

  NamePoller(NameResolver resolver, Pauses pauses, Faults faults) {
    this.resolver = resolver;
    this.pauses = pauses;
    this.faults = faults;
  }

  /**
   * Processes the answers that have come, and begins lookups that are due. Waits for nothing.
   *
   * @param nowMs a clock that does not go back
   * @param names the names to look up from now on
   * @return the answers
   */
  List<Found> step(long nowMs, Set<String> names) {
    if (names != wanted) {
      follow(names, nowMs);
    }
    final List<Found> found = new ArrayList<>();
    for (Ended one = ended.poll(); one != null; one = ended.poll()) {
      running--;
      end(one, nowMs, found);
    }
    tell();
    while (running < MOST_IN_FLIGHT && !due.isEmpty() && due.peek().dueMs <= nowMs) {
      begin(due.poll());
    }
    return found;
  }

  private void follow(Set<String> names, long nowMs) {
    wanted = names;
    polls.keySet().retainAll(names);
    failing.keySet().retainAll(names);
    due.removeIf(poll -> polls.get(poll.name) != poll);
    for (final String name : names) {
      if (!polls.containsKey(name)) {
        final Poll poll = new Poll(name);
        poll.dueMs = nowMs;
        polls.put(name, poll);
        due.add(poll);
      }
    }
  }

  private void begin(Poll poll) {
    running++;
    resolver
        .resolve(poll.name)
        .whenComplete((answer, failure) -> ended.add(new Ended(poll, answer, failure)));
  }

  private void end(Ended one, long nowMs, List<Found> found) {
    final Poll poll = one.poll();
    if (polls.get(poll.name) != poll) {
      return;
    }
    if (one.failure() == null) {
      poll.failures = 0;
      failing.remove(poll.name);
      poll.dueMs = nowMs + pauses.after(Math.min(one.answer().ttlSec(), pauses.mostMs()) * 1000);
      found.add(new Found(poll.name, one.answer()));
    } else {
      final Throwable cause =
          one.failure() instanceof CompletionException ? one.failure().getCause() : one.failure();
      failing.put(poll.name, String.valueOf(cause.getMessage()));
      poll.dueMs = nowMs + pauses.after(pauses.leastMs() << poll.failures);
      poll.failures = Math.min(poll.failures + 1, MOST_DOUBLINGS);
    }
    due.add(poll);
  }

  private void tell() {
    if (failing.isEmpty()) {
      faults.clear(FAULT);
    } else {
      faults.degraded(
          FAULT,
          "looking up %d of %d names failed: %s"
              .formatted(failing.size(), polls.size(), failing.firstEntry().getValue()));
    }
  }

  /** Looks names up at once. */
  void again(Collection<String> names, long nowMs) {
    for (final String name : names) {
      final Poll poll = polls.get(name);
      if (poll != null && due.remove(poll)) {
        poll.dueMs = nowMs;
        due.add(poll);
      }
    }
  }
}
