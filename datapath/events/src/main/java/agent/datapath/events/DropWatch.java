package agent.datapath.events;

import agent.conductor.HealthBoard;
import agent.datapath.guard.Check;
import agent.datapath.spec.DatapathMetrics;
import agent.maps.layout.DropReason;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;

/**
 * Watches the counters of packets that this node drops because it lacks something for them,
 * whatever policy says: room in a table, a free port, a proxy. The health says so from the first of
 * them until none has been dropped for half a minute. Read by any thread.
 */
public final class DropWatch implements Check, HealthBoard.Probe {
  private static final long REMEMBERED_NS = TimeUnit.SECONDS.toNanos(30);
  private static final long START_NS = TimeUnit.SECONDS.toNanos(5);
  private static final List<DropReason> REASONS =
      List.of(DropReason.CONNTRACK_FULL, DropReason.PORTS_EXHAUSTED, DropReason.NO_PROXY);

  private final DatapathMetrics metrics;
  private final NanoClock clock;
  private final DatapathMetrics.Visitor visitor = this::add;
  private final long createdNs;
  private final long[] counted = new long[REASONS.size()];
  private final long[] seen = new long[REASONS.size()];
  private final long[] before = new long[REASONS.size()];
  private final long[] seenNs = new long[REASONS.size()];

  /**
   * Watches from a start on: what a previous run has counted is past, and what is dropped in the
   * first seconds waited for this one, such as new connections for the proxies.
   */
  public DropWatch(DatapathMetrics metrics, NanoClock clock) {
    this.metrics = metrics;
    this.clock = clock;
    createdNs = clock.nanoTime();
    Arrays.fill(seenNs, createdNs - REMEMBERED_NS);
    sample(createdNs);
  }

  private void count() {
    Arrays.fill(counted, 0);
    metrics.forEach(visitor);
  }

  private void add(int direction, int reason, long packets, long bytes) {
    for (int i = 0; i < counted.length; i++) {
      if (REASONS.get(i).number() == reason) {
        counted[i] += packets;
      }
    }
  }

  @Override
  public Progress step(long nowNs) {
    sample(nowNs);
    return Progress.DONE;
  }

  private synchronized void sample(long nowNs) {
    count();
    if (nowNs - createdNs < START_NS) {
      System.arraycopy(counted, 0, seen, 0, seen.length);
      return;
    }
    for (int i = 0; i < seen.length; i++) {
      if (counted[i] != seen[i]) {
        if (!isDropping(i, nowNs)) {
          before[i] = seen[i];
        }
        seen[i] = counted[i];
        seenNs[i] = nowNs;
      }
    }
  }

  private boolean isDropping(int index, long nowNs) {
    return nowNs - seenNs[index] < REMEMBERED_NS;
  }

  @Override
  public synchronized HealthBoard.Reading read() {
    final long nowNs = clock.nanoTime();
    sample(nowNs);
    final StringBuilder text = new StringBuilder();
    for (int i = 0; i < seen.length; i++) {
      if (isDropping(i, nowNs)) {
        text.append(text.isEmpty() ? "packets are dropped: " : ", ");
        text.append(REASONS.get(i)).append(' ').append(seen[i] - before[i]);
      }
    }
    return text.isEmpty()
        ? HealthBoard.Reading.ok(
            "no packet is dropped because a table is full, or a port or proxy is missing")
        : HealthBoard.Reading.degraded(text.toString());
  }

  @Override
  public String toString() {
    return "dropped packets";
  }
}
