package agent.datapath.guard;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Runs the checks on the conductor's thread: one step of one check per duty cycle, in turn. Each
 * step is followed by a pause of 4 times what it took, so that changes and other threads do not
 * wait for a whole round. The rounds of a check follow each other after 2 seconds, or after 20
 * times what the last round took without its pauses, but at most 8 seconds, so that checks need at
 * most about a twentieth of the thread. A round over 1,000 endpoints with 50 policy entries each
 * makes about 8,000 system calls of a microsecond and reads 50,000 entries at 0.3 microseconds, 25
 * milliseconds in all, so that a difference is found within about 2 seconds; with a deny list of
 * 100,000 prefixes within 3, and of 1,000,000 within 9. Before Linux 6.8 the slots of {@code
 * policies} take longer, see {@code PolicySlots}.
 */
public final class Guard implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Guard.class);
  private static final long SHORTEST_REST_NS = TimeUnit.SECONDS.toNanos(2);
  private static final long LONGEST_REST_NS = TimeUnit.SECONDS.toNanos(8);
  private static final long REST_FACTOR = 20;
  private static final long PAUSE_FACTOR = 4;

  /** A step that takes longer waited in the kernel; others of the round are spread then. */
  private static final long SLOW_STEP_NS = TimeUnit.MILLISECONDS.toNanos(2);

  private final NanoClock clock;
  private final KernelFaults faults;
  private final List<Rounds> checks = new ArrayList<>();
  private int next;

  private static final class Rounds {
    final Check check;
    long dueNs;
    long busyNs;
    long pausedNs;
    String failure;

    Rounds(Check check, long nowNs) {
      this.check = check;
      dueNs = nowNs + SHORTEST_REST_NS;
    }
  }

  /** Creates a guard without checks. */
  public Guard(NanoClock clock, KernelFaults faults) {
    this.clock = clock;
    this.faults = faults;
  }

  /** Adds a check and returns it; before the conductor's thread is started. */
  public <T extends Check> T add(T check) {
    checks.add(new Rounds(check, clock.nanoTime()));
    return check;
  }

  /** Executes at most one step; returns the number of steps. */
  public int doWork() {
    final long nowNs = clock.nanoTime();
    for (int i = checks.size(); i > 0; i--) {
      final Rounds rounds = checks.get(next);
      next = next + 1 == checks.size() ? 0 : next + 1;
      if (rounds.dueNs - nowNs <= 0) {
        step(rounds, nowNs);
        return 1;
      }
    }
    return 0;
  }

  private void step(Rounds rounds, long nowNs) {
    Check.Progress progress;
    try {
      progress = rounds.check.step(nowNs);
      if (rounds.failure != null && progress == Check.Progress.DONE) {
        faults.clear(rounds.failure);
        rounds.failure = null;
      }
    } catch (RuntimeException failure) {
      failed(rounds, failure);
      progress = Check.Progress.DONE;
    }
    final long endNs = clock.nanoTime();
    final long tookNs = endNs - nowNs;
    rounds.busyNs += tookNs;
    if (progress == Check.Progress.DONE) {
      final long restNs = Math.min(LONGEST_REST_NS, REST_FACTOR * rounds.busyNs) - rounds.pausedNs;
      rounds.dueNs = endNs + Math.max(SHORTEST_REST_NS, restNs);
      rounds.busyNs = 0;
      rounds.pausedNs = 0;
    } else if (progress == Check.Progress.COMPARED && tookNs > SLOW_STEP_NS) {
      rounds.dueNs = endNs + Math.min(LONGEST_REST_NS, REST_FACTOR * tookNs);
    } else if (progress == Check.Progress.COMPARED) {
      rounds.dueNs = endNs + PAUSE_FACTOR * tookNs;
      rounds.pausedNs += PAUSE_FACTOR * tookNs;
    }
  }

  /** Returns the time until a step is due; 0 where one is. */
  public long pauseNs() {
    final long nowNs = clock.nanoTime();
    long pauseNs = LONGEST_REST_NS;
    for (int i = 0; i < checks.size(); i++) {
      pauseNs = Math.min(pauseNs, checks.get(i).dueNs - nowNs);
    }
    return Math.max(0, pauseNs);
  }

  /** Closes the checks, after the conductor's thread has ended. */
  @Override
  public void close() {
    checks.forEach(rounds -> rounds.check.close());
  }

  private void failed(Rounds rounds, RuntimeException failure) {
    if (rounds.failure == null) {
      LOGGER.error("{}: the comparison with the kernel failed", rounds.check, failure);
    }
    rounds.failure = rounds.check.toString();
    faults.failed(
        0, null, rounds.failure, "the comparison with the kernel failed: " + failure.getMessage());
  }
}
